from decimal import Decimal
from typing import Any

import pytest
from structlog.testing import capture_logs

from aex_client import AnswerNotUnderstood, ConnectionFailed, Endpoints, InvalidRequest
from aex_client.calls import export_settlements
from aex_client.views import BookingView
from aex_models.audiences import Audience
from aex_settlement.rules.export import EXPORT_ENCODERS, ExportFormat, visible_columns
from aex_settlement.rules.transactions import build_settlement_transaction
from tests.libs.client.platform import Both, served
from tests.libs.client.streams import Connection, Script
from tests.services.settlement.outcomes import NOON, a_settlement


def a_file(many: int, audience: Audience = Audience.FINANCE) -> bytes:
    """So many rows as the service writes them."""
    settlement = a_settlement()
    booking = build_settlement_transaction(
        settlement, 1, settlement.cost, NOON, "outcome\u2028out_1", "service:settlement"
    )
    return EXPORT_ENCODERS[ExportFormat.JSONL].rows(visible_columns(audience), [booking] * many)


def export(many: int, **changes: Any) -> Connection:
    return Connection((a_file(many),), **changes)


async def read(both: Both, *answers: Connection, **query: Any) -> tuple[list[BookingView], Script]:
    script = Script(list(answers))
    with served(script) as url:
        rows: list[BookingView] = await both.call(Endpoints(*[url] * 4), "rows", export_settlements(**query))
        return rows, script


async def test_row_has_typed_fields(both: Both) -> None:
    rows, exports = await read(both, export(200), agent_id="bot")
    assert (len(rows), both.pauses) == (200, [])
    assert (rows[0].booked_at, rows[0].total, rows[0].success, rows[0].by) == (
        NOON, Decimal(1), True, "service:settlement",
    )  # fmt: skip
    assert rows[0].reason == "outcome\u2028out_1"
    (requested,) = exports.requested
    assert (requested["format"], requested["agent_id"], requested["authorization"]) == ("jsonl", "bot", "Bearer t")


async def test_request_is_retried_before_the_first_row(both: Both) -> None:
    with capture_logs() as logs:
        rows, exports = await read(both, Connection(status=429), Connection(status=503), export(2))
    assert (len(rows), len(exports.requested), len(both.pauses)) == (2, 3, 2)
    assert [line["reason"] for line in logs if line["event"] == "aex_rows_retried"] == ["as_told", "as_told"]


async def test_empty_answer_has_no_rows_and_a_hidden_author_is_none(both: Both) -> None:
    assert (await read(both, Connection()))[0] == []
    [row], _ = await read(both, Connection((a_file(1, Audience.AGENT),)))
    assert row.by is None


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        (export(3, broken=True), ConnectionFailed, "GET /v1/settlements/export"),
        (Connection(status=400), InvalidRequest, "as told"),
        (Connection(("<html>a proxy</html>\n",)), AnswerNotUnderstood, "GET /v1/settlements/export"),
    ],
)
async def test_aborted_refused_or_unknown_answer_is_raised_without_a_retry(
    both: Both, answer: Connection, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        await read(both, answer)  # a second request would have no answer
    assert both.pauses == []
