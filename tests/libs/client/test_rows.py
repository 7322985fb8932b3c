"""Long answers row by row with both clients: asked for again until the first row came, and never taken for whole."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from structlog.testing import capture_logs

from aex_client import AexClient, AnswerNotUnderstood, AsyncAexClient, ConnectionFailed, Endpoints, InvalidRequest
from aex_client.calls import export_settlements
from aex_client.views import BookingView
from aex_models.audiences import Audience
from aex_settlement.rules.booked import settlement_transaction
from aex_settlement.rules.export_columns import columns_for
from aex_settlement.rules.export_formats import FORMS, ExportFormat
from tests.libs.client.platform import served
from tests.services.settlement.outcomes import NOON, a_settlement


class Cut(Exception):
    """The connection breaks off."""


def a_file(many: int, audience: Audience = Audience.FINANCE) -> bytes:
    """So many rows as the service writes them."""
    settlement = a_settlement()
    booking = settlement_transaction(settlement, 1, settlement.cost, NOON, "outcome\u2028out_1", "service:settlement")
    return FORMS[ExportFormat.JSONL].rows(columns_for(audience), [booking] * many)


@dataclass(slots=True)
class Exports:
    """Answers in turn: bytes, bytes that break off, or a problem's status."""

    script: list[bytes | tuple[bytes, str] | int]
    asked: list[dict[str, str]] = field(default_factory=list)

    async def export(self, request: Request) -> Response:
        self.asked.append(dict(request.headers) | dict(request.query_params))
        answer = self.script.pop(0)
        if isinstance(answer, int):
            return JSONResponse({"code": "as_told", "detail": "as told"}, answer)
        return StreamingResponse(_sent(answer), media_type="application/x-ndjson")

    def app(self) -> Starlette:
        """The application."""
        return Starlette(routes=[Route("/v1/settlements/export", self.export)])


async def _sent(answer: bytes | tuple[bytes, str]) -> AsyncIterator[bytes]:
    yield answer if isinstance(answer, bytes) else answer[0]
    if isinstance(answer, tuple):
        raise Cut


@dataclass
class Reader:
    """One of the two clients, with what it slept."""

    kind: str
    pauses: list[float] = field(default_factory=list)

    async def read(self, exports: Exports, **query: Any) -> list[BookingView]:
        """All rows."""
        with served(exports) as url:
            endpoints = Endpoints(*[url] * 4)
            if self.kind == "sync":
                return await asyncio.to_thread(self._blocking, endpoints, query)
            return await self._awaited(endpoints, query)

    def _blocking(self, endpoints: Endpoints, query: dict[str, Any]) -> list[BookingView]:
        with AexClient(endpoints, "t", sleep=self.pauses.append) as client:
            return list(client.rows(export_settlements(**query)))

    async def _awaited(self, endpoints: Endpoints, query: dict[str, Any]) -> list[BookingView]:
        async def sleep(seconds: float) -> None:
            self.pauses.append(seconds)

        async with (
            AsyncAexClient(endpoints, "t", sleep=sleep) as client,
            aclosing(client.rows(export_settlements(**query))) as rows,
        ):
            return [row async for row in rows]


@pytest.fixture(params=["sync", "async"])
def reader(request: pytest.FixtureRequest) -> Reader:
    return Reader(request.param)


async def test_every_row_is_read_in_types_of_its_own(reader: Reader) -> None:
    exports = Exports([a_file(1_000)])
    rows = await reader.read(exports, agent_id="bot")
    assert (len(rows), reader.pauses) == (1_000, [])
    assert (rows[0].booked_at, rows[0].total, rows[0].success, rows[0].by) == (
        NOON, Decimal(1), True, "service:settlement",
    )  # fmt: skip
    assert rows[0].reason == "outcome\u2028out_1"
    (asked,) = exports.asked
    assert (asked["format"], asked["agent_id"], asked["authorization"]) == ("jsonl", "bot", "Bearer t")


async def test_who_booked_it_is_none_where_it_is_not_shown(reader: Reader) -> None:
    (row,) = await reader.read(Exports([a_file(1, Audience.AGENT)]))
    assert row.by is None


async def test_no_rows_are_none(reader: Reader) -> None:
    assert await reader.read(Exports([b""])) == []


async def test_it_is_asked_for_again_while_nothing_came(reader: Reader) -> None:
    exports = Exports([429, 503, a_file(2)])
    with capture_logs() as logs:
        assert len(await reader.read(exports)) == 2
    assert len(exports.asked) == 3
    assert len(reader.pauses) == 2
    assert [line["reason"] for line in logs if line["event"] == "aex_rows_asked_again"] == ["as_told", "as_told"]


async def test_an_answer_that_breaks_off_is_never_taken_for_whole_and_not_begun_anew(reader: Reader) -> None:
    exports = Exports([(a_file(3), "cut"), a_file(3)])
    with pytest.raises(ConnectionFailed):
        await reader.read(exports)
    assert len(exports.asked) == 1


async def test_what_is_wrong_with_the_question_is_raised_at_once(reader: Reader) -> None:
    with pytest.raises(InvalidRequest, match="as told"):
        await reader.read(Exports([400]))


async def test_a_line_that_is_no_row_is_not_understood(reader: Reader) -> None:
    with pytest.raises(AnswerNotUnderstood, match="GET /v1/settlements/export"):
        await reader.read(Exports([b"<html>a proxy</html>\n"]))
