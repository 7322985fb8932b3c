"""Settlements: a page of them, their breakdown, one of them."""

from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import JsonValue

from aex_models.settlement import SettlementStatus
from aex_runtime.http.pagination import page
from aex_settlement.api.parameters import (
    ContractId,
    CurrencyCode,
    FirstDay,
    Json,
    LastDay,
    Name,
    Page,
    Reader,
    shown,
)
from aex_settlement.api.rendering import large_answer
from aex_settlement.deps import Deps
from aex_settlement.handlers.read_breakdown import break_down
from aex_settlement.handlers.read_settlements import SettlementFilter, list_settlements, read_settlement
from aex_settlement.rules.breakdown import GROUPS, MAX_GROUPS

_GROUPS = f"One or two of {', '.join(GROUPS)}; also as one value, such as `agent,day`"
_GROUP_NAMES: dict[str, JsonValue] = {
    "items": {"type": "string", "enum": list(GROUPS)},
    "minItems": 1,
    "maxItems": MAX_GROUPS,
    "uniqueItems": True,
}


def settlement_routes(router: APIRouter, deps: Deps) -> None:
    """`/settlements`, `/settlements/breakdown`, `/settlements/{contract_id}`."""

    @router.get("/settlements")
    async def get_settlements(
        reader: Reader,
        paging: Page,
        agent_id: Name = None,
        consumer_id: Name = None,
        domain: Name = None,
        status: SettlementStatus | None = None,
        first_day: FirstDay = None,
        last_day: LastDay = None,
    ) -> Json:
        """Settlements, newest first: finance all, a consumer or an agent its own."""
        given = {"agent_id": agent_id, "consumer_id": consumer_id, "domain": domain, "status": status}
        equal = {name: str(value) for name, value in given.items() if value is not None}
        wanted = SettlementFilter(equal, first_day, last_day)
        found = await list_settlements(deps, reader, wanted, paging.after, paging.limit)
        return page([shown(each, reader) for each in found.records], found.after, paging)

    @router.get("/settlements/breakdown", response_model=Json)  # before {contract_id}, which would take it for one
    async def get_breakdown(
        reader: Reader,
        group_by: Annotated[list[str], Query(description=_GROUPS, json_schema_extra=_GROUP_NAMES)],
        first_day: FirstDay = None,
        last_day: LastDay = None,
        currency: CurrencyCode = None,
    ) -> Response:
        """Counts and amounts by group, with a total for each currency: bookings less reversals, each on its own day."""
        found = await break_down(deps, reader, group_by, first_day, last_day, currency)
        return await large_answer(found, reader)

    @router.get("/settlements/{contract_id}")
    async def get_settlement(reader: Reader, contract_id: ContractId) -> Json:
        """What a contract cost, line by line, with all its revisions."""
        return shown(await read_settlement(deps, reader, contract_id), reader)
