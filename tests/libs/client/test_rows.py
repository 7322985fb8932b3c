from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from structlog.testing import capture_logs

from aex_client import AnswerNotUnderstood, ConnectionFailed, Endpoints, InvalidRequest
from aex_client.calls import export_settlements
from aex_client.views import BookingView
from aex_models.audiences import Audience
from aex_settlement.rules.export import FORMS, ExportFormat, columns_for
from aex_settlement.rules.transactions import settlement_transaction
from tests.libs.client.platform import Both, served, stream
from tests.services.settlement.outcomes import NOON, a_settlement


def a_file(many: int, audience: Audience = Audience.FINANCE) -> bytes:
    """So many rows as the service writes them."""
    settlement = a_settlement()
    booking = settlement_transaction(settlement, 1, settlement.cost, NOON, "outcome\u2028out_1", "service:settlement")
    return FORMS[ExportFormat.JSONL].rows(columns_for(audience), [booking] * many)


@dataclass(slots=True)
class Exports:
    """Answers in turn: bytes, bytes that break off, or a problem's status."""

    script: list[bytes | tuple[bytes, str] | int]
    requested: list[dict[str, str]] = field(default_factory=list)

    async def export(self, request: Request) -> Response:
        self.requested.append(dict(request.headers) | dict(request.query_params))
        answer = self.script.pop(0)
        if isinstance(answer, int):
            return JSONResponse({"code": "as_told", "detail": "as told"}, answer)
        content = answer if isinstance(answer, bytes) else answer[0]
        return StreamingResponse(stream([content], cut=isinstance(answer, tuple)), media_type="application/x-ndjson")

    def app(self) -> Starlette:
        """The application."""
        return Starlette(routes=[Route("/v1/settlements/export", self.export)])


async def read(both: Both, exports: Exports, **query: Any) -> list[BookingView]:
    with served(exports) as url:
        rows: list[BookingView] = await both.call(Endpoints(*[url] * 4), "rows", export_settlements(**query))
        return rows


async def test_row_has_typed_fields(both: Both) -> None:
    exports = Exports([a_file(200)])
    rows = await read(both, exports, agent_id="bot")
    assert (len(rows), both.pauses) == (200, [])
    assert (rows[0].booked_at, rows[0].total, rows[0].success, rows[0].by) == (
        NOON, Decimal(1), True, "service:settlement",
    )  # fmt: skip
    assert rows[0].reason == "outcome\u2028out_1"
    (requested,) = exports.requested
    assert (requested["format"], requested["agent_id"], requested["authorization"]) == ("jsonl", "bot", "Bearer t")


async def test_request_is_retried_before_the_first_row(both: Both) -> None:
    exports = Exports([429, 503, a_file(2)])
    with capture_logs() as logs:
        assert len(await read(both, exports)) == 2
    assert len(exports.requested) == 3
    assert len(both.pauses) == 2
    assert [line["reason"] for line in logs if line["event"] == "aex_rows_retried"] == ["as_told", "as_told"]


async def test_empty_answer_has_no_rows_and_a_hidden_author_is_none(both: Both) -> None:
    assert await read(both, Exports([b""])) == []
    [row] = await read(both, Exports([a_file(1, Audience.AGENT)]))
    assert row.by is None


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        ((a_file(3), "cut"), ConnectionFailed, "GET /v1/settlements/export"),
        (400, InvalidRequest, "as told"),
        (b"<html>a proxy</html>\n", AnswerNotUnderstood, "GET /v1/settlements/export"),
    ],
)
async def test_aborted_refused_or_unknown_answer_is_raised_without_a_retry(
    both: Both, answer: Any, error: type[Exception], message: str
) -> None:
    exports = Exports([answer, a_file(3)])
    with pytest.raises(error, match=message):
        await read(both, exports)
    assert len(exports.requested) == 1
