"""How an export ends where it does not come to its end: a reader that is gone, a store that fails, too many at once."""

import asyncio
import socket
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
import uvicorn
from structlog.testing import capture_logs

from aex_runtime.errors import RateLimited, TemporarilyUnavailable
from aex_runtime.http.turnstile import Turnstile
from aex_runtime.identity.principal import Principal
from aex_runtime.store.memory import MemoryStore
from aex_runtime.store.port import Document, Query, StoreUnavailable
from aex_settlement.handlers.export_settlements import ExportFilter, export_settlements
from aex_settlement.handlers.settle_outcome import settle_outcome
from aex_settlement.repository.bookings import PAGE
from aex_settlement.repository.ledger import TRANSACTIONS
from aex_settlement.rules.export_formats import ExportFormat
from tests.services.settlement.counter import Counter, open_counter
from tests.services.settlement.desk import ACME, FINANCE, GLOBEX, Desk, desk_over
from tests.services.settlement.outcomes import NOON, an_outcome

PATH = "/v1/settlements/export"


class FailingStore(MemoryStore):
    """A store that brings so many pages of transactions and then does not answer any more."""

    def __init__(self, pages: int) -> None:
        super().__init__()
        self.pages = pages

    async def query(self, query: Query) -> list[Document]:
        if query.collection == TRANSACTIONS.collection:
            if not self.pages:
                raise StoreUnavailable("gone")
            self.pages -= 1
        return await super().query(query)


async def settled(store: MemoryStore, many: int = 2 * PAGE) -> Desk:
    desk = desk_over(store, NOON)
    for number in range(many):
        await settle_outcome(desk.deps, an_outcome(f"ctr_{number}"))
    return desk


def exporting(
    desk: Desk, turnstile: Turnstile | None = None, reader: Principal = FINANCE
) -> AsyncGenerator[bytes, None]:
    gate = turnstile or Turnstile(1, 1, "exports", "exports_busy")
    return export_settlements(desk.deps, reader, ExportFilter(), ExportFormat.CSV, gate)


@asynccontextmanager
async def serving(counter: Counter) -> AsyncIterator[httpx.AsyncClient]:
    """The counter's application behind a real server, without its background work."""
    assert isinstance(counter.client._transport, httpx.ASGITransport)
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(counter.client._transport.app, lifespan="off", log_config=None))
    running = asyncio.create_task(server.serve(sockets=[listening]))
    headers = {"Authorization": f"Bearer {counter.issuer.mint(FINANCE.id, FINANCE.role)}"}
    try:
        port = listening.getsockname()[1]
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", headers=headers) as client:
            yield client
    finally:
        server.should_exit = True
        await running
        listening.close()


async def test_a_store_that_fails_half_way_cuts_the_connection(tmp_path: Path) -> None:
    desk = await settled(FailingStore(pages=1))
    with capture_logs() as logs:
        async with open_counter(desk, tmp_path) as counter, serving(counter) as client:
            with pytest.raises(httpx.RemoteProtocolError, match="incomplete chunked read"):
                await client.get(PATH, params={"format": "csv"})
    (line,) = [line for line in logs if line["event"] == "export_broken_off"]
    assert line["rows"] == PAGE


async def test_a_store_that_fails_at_once_is_told_of_as_ever(tmp_path: Path) -> None:
    async with open_counter(await settled(FailingStore(pages=0), 1), tmp_path) as counter:
        answer = await counter.ask(FINANCE, PATH, format="csv")
    assert (answer.status_code, answer.json()["code"]) == (503, "store_unavailable")
    assert answer.headers["retry-after"]


async def test_a_reader_that_leaves_half_way_frees_its_place() -> None:
    desk = await settled(MemoryStore(), 3 * PAGE)
    turnstile = Turnstile(1, 1, "exports", "exports_busy")
    with capture_logs() as logs:
        async with aclosing(exporting(desk, turnstile)) as pieces:
            assert (await anext(pieces)).startswith(b"booked_at,")
            assert turnstile.inside == 1
    assert turnstile.inside == 0
    (line,) = [line for line in logs if line["event"] == "export_broken_off"]
    assert line["rows"] == 0  # told once the reader has taken them


async def test_an_export_over_its_place_is_told_to_come_again() -> None:
    desk = await settled(MemoryStore(), 1)
    turnstile = Turnstile(1, 2, "exports", "exports_busy")
    async with aclosing(exporting(desk, turnstile)) as first:
        await anext(first)
        with pytest.raises(RateLimited, match="too_many_exports") as refused:
            await anext(exporting(desk, turnstile))
        assert refused.value.retry_after_s > 0
    async with aclosing(exporting(desk, turnstile)) as after:
        assert await anext(after)


async def test_the_last_place_is_kept_for_finance() -> None:
    desk = await settled(MemoryStore(), 1)
    turnstile = Turnstile(1, 2, "exports", "exports_busy", kept=1)
    async with aclosing(exporting(desk, turnstile, ACME)) as first:
        await anext(first)
        with pytest.raises(TemporarilyUnavailable, match="exports_busy"):
            await anext(exporting(desk, turnstile, GLOBEX))
        async with aclosing(exporting(desk, turnstile)) as finances:
            assert await anext(finances)


async def test_what_is_booked_while_an_export_runs_is_not_in_it() -> None:
    desk = await settled(MemoryStore(), PAGE)
    exported = b""
    async with aclosing(exporting(desk)) as pieces:
        async for piece in pieces:
            exported += piece
            desk.clock.advance(timedelta(microseconds=2))
            await settle_outcome(desk.deps, an_outcome("ctr_late"))
    assert exported.count(b"\r\n") == PAGE + 1
    assert b"ctr_late" not in exported
