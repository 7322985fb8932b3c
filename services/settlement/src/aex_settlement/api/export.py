"""The export: bookings as a file."""

from datetime import UTC
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse

from aex_models.settlement import SettlementStatus
from aex_runtime.http.download import Download
from aex_runtime.http.turnstile import Turnstile
from aex_settlement.api.parameters import CurrencyCode, FirstDay, LastDay, Name, Reader
from aex_settlement.deps import Deps
from aex_settlement.handlers.export_settlements import ExportFilter, export_settlements
from aex_settlement.rules.export_columns import COLUMNS
from aex_settlement.rules.export_formats import FORMS, ExportFormat

MAX_OF_ONE, MAX_OF_ALL, KEPT_FOR_FINANCE = 2, 8, 2
"""How many exports run at once in one process: each reads the store as fast as its reader takes it."""
_COLUMNS = "\n".join(f"- `{column.name}`: {column.about}" for column in COLUMNS)
_DESCRIPTION = f"""Bookings, oldest first: finance all, a consumer or an agent its own.

One row for each booking of a contract's cost, and one, with negative amounts, for each reversal, so that sums over the
rows are the breakdown's. Columns, the same names in both formats:

{_COLUMNS}

In CSV, text that a spreadsheet would run as a formula, also behind a separator in it, has an apostrophe in front.
An answer that does not come to its proper end is not complete."""
_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The rows",
        "content": {form.media_type.partition(";")[0]: {"schema": {"type": "string"}} for form in FORMS.values()},
    }
}


def export_routes(router: APIRouter, deps: Deps) -> None:
    """`/settlements/export`."""
    turnstile = Turnstile(MAX_OF_ONE, MAX_OF_ALL, "exports", "exports_busy", kept=KEPT_FOR_FINANCE)

    @router.get("/settlements/export", response_class=StreamingResponse, responses=_RESPONSES, description=_DESCRIPTION)
    async def get_export(
        reader: Reader,
        written: Annotated[ExportFormat, Query(alias="format")] = ExportFormat.CSV,
        agent_id: Name = None,
        consumer_id: Name = None,
        domain: Name = None,
        currency: CurrencyCode = None,
        status: Annotated[SettlementStatus | None, Query(description="Of the contract's settlement, now")] = None,
        first_day: FirstDay = None,
        last_day: LastDay = None,
    ) -> Download:
        wanted = ExportFilter(agent_id, consumer_id, domain, currency, status, first_day, last_day)
        pieces = export_settlements(deps, reader, wanted, written, turnstile)
        now = deps.clock.now().astimezone(UTC)
        filename = f"settlements-{now:%Y%m%dT%H%M%SZ}.{written.value}"
        return Download(pieces, filename=filename, media_type=FORMS[written].media_type)
