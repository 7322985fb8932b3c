"""Routes of settlements: lists, breakdowns, corrections and the export."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from fastapi.responses import StreamingResponse
from pydantic import JsonValue

from aex_models.corrections import ReversalRequest
from aex_models.settlement import SettlementStatus
from aex_runtime.exports import export_filename
from aex_runtime.http.limits import ConcurrencyLimiter
from aex_runtime.http.listing import encoded_json_response
from aex_runtime.http.streaming import Download
from aex_settlement.api.parameters import (
    ContractId,
    CurrencyCode,
    Finance,
    FirstDay,
    Idempotency,
    Json,
    LastDay,
    Name,
    Page,
    Reader,
    build_visible_json_response,
)
from aex_settlement.deps import Deps
from aex_settlement.handlers.export_settlements import ExportFilter, export_settlements
from aex_settlement.handlers.post_transactions import reverse_settlement
from aex_settlement.handlers.read_breakdown import read_settlement_breakdown
from aex_settlement.handlers.read_ledger import list_settlements, read_settlement
from aex_settlement.rules.breakdown import GROUPS, MAX_GROUPS
from aex_settlement.rules.export import COLUMNS, EXPORT_ENCODERS, ExportFormat
from aex_settlement.rules.settlements import SettlementFilter, render_settlement

_GROUPS = f"One or two of {', '.join(GROUPS)}; also as one value, such as `agent,day`"
_GROUP_NAMES: dict[str, JsonValue] = {
    "items": {"type": "string", "enum": list(GROUPS)},
    "minItems": 1,
    "maxItems": MAX_GROUPS,
    "uniqueItems": True,
}


def add_settlement_routes(router: APIRouter, deps: Deps) -> None:
    """Add the routes `/settlements`, `/settlements/breakdown` and `/settlements/{contract_id}`."""

    @router.get("/settlements", response_model=Json)
    async def get_settlements(
        reader: Reader,
        paging: Page,
        agent_id: Name = None,
        consumer_id: Name = None,
        domain: Name = None,
        status: SettlementStatus | None = None,
        first_day: FirstDay = None,
        last_day: LastDay = None,
    ) -> Response:
        """List settlements, newest first: all for finance, their own for a consumer or an agent.

        A page ends at `limit` items, or at 1 MB of stored records, and has at least one item.
        """
        filters = {"agent_id": agent_id, "consumer_id": consumer_id, "domain": domain, "status": status}
        equal = {name: str(value) for name, value in filters.items() if value is not None}
        query = SettlementFilter(equal, first_day, last_day)
        return encoded_json_response(await list_settlements(deps, reader, query, paging))

    @router.get("/settlements/breakdown", response_model=Json)  # before {contract_id}, which would match it
    async def get_breakdown(
        reader: Reader,
        group_by: Annotated[list[str], Query(description=_GROUPS, json_schema_extra=_GROUP_NAMES)],
        first_day: FirstDay = None,
        last_day: LastDay = None,
        currency: CurrencyCode = None,
    ) -> Response:
        """Return counts and amounts by group, and a total per currency; reversals are subtracted."""
        found = await read_settlement_breakdown(deps, reader, group_by, first_day, last_day, currency)
        return await build_visible_json_response(found, reader)

    @router.get("/settlements/{contract_id}")
    async def get_settlement(reader: Reader, contract_id: ContractId) -> Json:
        """Return the cost of a contract by criterion, with all its revisions."""
        return render_settlement(await read_settlement(deps, reader, contract_id), reader)


def add_reversal_route(router: APIRouter, deps: Deps) -> None:
    """Add the route `/settlements/{contract_id}/reversals`."""

    @router.post("/settlements/{contract_id}/reversals", status_code=201)
    async def post_reversal(
        finance: Finance, contract_id: ContractId, body: ReversalRequest, once: Idempotency, response: Response
    ) -> Json:
        """Reverse the current revision of a settlement, and post `replacement` as the next one if given.

        Both are new ledger transactions; nothing is edited. Each revision is reversed at most once.
        """
        effect = await reverse_settlement(deps, contract_id, body, finance.id, once)
        response.headers.update(effect.headers)
        return render_settlement(await read_settlement(deps, finance, effect.resource_id), finance)


MAX_OF_ONE, MAX_OF_ALL, KEPT_FOR_FINANCE = 2, 8, 2
"""Limits of concurrent exports in one process: per caller, in total, and reserved for finance."""
_COLUMNS = "\n".join(f"- `{column.name}`: {column.description}" for column in COLUMNS)
_DESCRIPTION = f"""Bookings, oldest first: finance all, a consumer or an agent its own.

One row for each booking of a contract's cost, and one, with negative amounts, for each reversal, so that sums over the
rows are the breakdown's. Columns, the same names in both formats:

{_COLUMNS}

In CSV, text that a spreadsheet would run as a formula, also behind a separator in it, has an apostrophe in front.
An answer that does not come to its proper end is not complete."""
_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The rows",
        "content": {
            encoder.media_type.partition(";")[0]: {"schema": {"type": "string"}} for encoder in EXPORT_ENCODERS.values()
        },
    }
}


def add_export_routes(router: APIRouter, deps: Deps) -> None:
    """Add the route `/settlements/export`."""
    limiter = ConcurrencyLimiter(MAX_OF_ONE, MAX_OF_ALL, "exports", "exports_busy", reserved=KEPT_FOR_FINANCE)

    @router.get("/settlements/export", response_class=StreamingResponse, responses=_RESPONSES, description=_DESCRIPTION)
    async def get_export(
        reader: Reader,
        export_format: Annotated[ExportFormat, Query(alias="format")] = ExportFormat.CSV,
        agent_id: Name = None,
        consumer_id: Name = None,
        domain: Name = None,
        currency: CurrencyCode = None,
        status: Annotated[SettlementStatus | None, Query(description="Of the contract's settlement, now")] = None,
        first_day: FirstDay = None,
        last_day: LastDay = None,
    ) -> Download:
        query = ExportFilter(agent_id, consumer_id, domain, currency, status, first_day, last_day)
        pieces = export_settlements(deps, reader, query, export_format, limiter)
        filename = export_filename("settlements", deps.clock.now(), export_format.value)
        return Download(pieces, filename=filename, media_type=EXPORT_ENCODERS[export_format].media_type)
