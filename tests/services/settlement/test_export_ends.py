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
from aex_runtime.http.limits import ConcurrencyLimiter
from aex_runtime.identity.principals import Principal
from aex_runtime.store.memory import MemoryStore
from aex_runtime.store.port import Document, Query, StoreUnavailable
from aex_settlement.handlers.export_settlements import ExportFilter, export_settlements
from aex_settlement.handlers.post_transactions import settle_outcome
from aex_settlement.repository.ledger import EXPORT_PAGE, TRANSACTIONS
from aex_settlement.rules.export import ExportFormat
from tests.services.settlement.counter import Counter, open_counter
from tests.services.settlement.journal.booking import book_together
from tests.services.settlement.ledger_kit import ACME, FINANCE, GLOBEX, LedgerKit, ledger_kit_over
from tests.services.settlement.outcomes import NOON, an_outcome

PATH = "/v1/settlements/export"
BATCH = 200


class FailingStore(MemoryStore):
    """A store that brings so many pages of transactions and then does not answer any more."""

    def __init__(self, pages: int) -> None:
        super().__init__()
        self.pages = pages

    async def query_page(self, query: Query) -> list[Document]:
        if query.collection == TRANSACTIONS.collection:
            if not self.pages:
                raise StoreUnavailable("gone")
            self.pages -= 1
        return await super().query_page(query)


async def settled(store: MemoryStore, many: int = 2 * EXPORT_PAGE) -> LedgerKit:
    ledger = ledger_kit_over(store, NOON)
    for first in range(0, many, BATCH):
        await book_together(ledger, range(first, min(first + BATCH, many)))
    return ledger


def exporting(
    ledger: LedgerKit, limiter: ConcurrencyLimiter | None = None, reader: Principal = FINANCE
) -> AsyncGenerator[bytes, None]:
    gate = limiter or ConcurrencyLimiter(1, 1, "exports", "exports_busy")
    return export_settlements(ledger.deps, reader, ExportFilter(), ExportFormat.CSV, gate)


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
    ledger = await settled(FailingStore(pages=1))
    with capture_logs() as logs:
        async with open_counter(ledger, tmp_path) as counter, serving(counter) as client:
            with pytest.raises(httpx.RemoteProtocolError, match="incomplete chunked read"):
                await client.get(PATH, params={"format": "csv"})
    (line,) = [line for line in logs if line["event"] == "export_aborted"]
    assert line["rows"] == EXPORT_PAGE


async def test_store_failure_before_the_first_piece_is_an_error(tmp_path: Path) -> None:
    async with open_counter(await settled(FailingStore(pages=0), 1), tmp_path) as counter:
        answer = await counter.ask(FINANCE, PATH, format="csv")
    assert (answer.status_code, answer.json()["code"]) == (503, "store_unavailable")
    assert answer.headers["retry-after"]


async def test_leaving_reader_frees_its_slot() -> None:
    ledger = await settled(MemoryStore())
    limiter = ConcurrencyLimiter(1, 1, "exports", "exports_busy")
    with capture_logs() as logs:
        async with aclosing(exporting(ledger, limiter)) as pieces:
            assert (await anext(pieces)).startswith(b"booked_at,")
            assert limiter.in_use == 1
    assert limiter.in_use == 0
    (line,) = [line for line in logs if line["event"] == "export_aborted"]
    assert line["rows"] == 0  # told once the reader has taken them


async def test_export_over_the_limit_is_refused_with_retry_after() -> None:
    ledger = await settled(MemoryStore(), 1)
    limiter = ConcurrencyLimiter(1, 2, "exports", "exports_busy")
    async with aclosing(exporting(ledger, limiter)) as first:
        await anext(first)
        with pytest.raises(RateLimited, match="too_many_exports") as refused:
            await anext(exporting(ledger, limiter))
        assert refused.value.retry_after_s > 0
    async with aclosing(exporting(ledger, limiter)) as after:
        assert await anext(after)


async def test_last_slot_is_reserved_for_finance() -> None:
    ledger = await settled(MemoryStore(), 1)
    limiter = ConcurrencyLimiter(1, 2, "exports", "exports_busy", reserved=1)
    async with aclosing(exporting(ledger, limiter, ACME)) as first:
        await anext(first)
        with pytest.raises(TemporarilyUnavailable, match="exports_busy"):
            await anext(exporting(ledger, limiter, GLOBEX))
        async with aclosing(exporting(ledger, limiter)) as finances:
            assert await anext(finances)


async def test_export_excludes_settlements_made_meanwhile() -> None:
    ledger = await settled(MemoryStore(), EXPORT_PAGE)
    exported = b""
    async with aclosing(exporting(ledger)) as pieces:
        async for piece in pieces:
            exported += piece
            ledger.clock.advance(timedelta(microseconds=2))
            await settle_outcome(ledger.deps, an_outcome("ctr_late"))
    assert exported.count(b"\r\n") == EXPORT_PAGE + 1
    assert b"ctr_late" not in exported
