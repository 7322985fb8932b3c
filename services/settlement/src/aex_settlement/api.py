"""HTTP in: settlements, their breakdown, accounts, the trial balance, deposits and adjustments."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Response
from pydantic import BaseModel

from aex_models.audiences import Audience, project
from aex_models.settlement import SettlementStatus, TransactionRequest
from aex_runtime.http.auth import Allow, Principal
from aex_runtime.http.idempotency import IdempotentRequest, idempotent_request
from aex_runtime.http.pagination import PageRequest, page, page_request
from aex_runtime.http.routing import service_router
from aex_settlement.deps import Deps
from aex_settlement.handlers.post_transaction import post_transaction
from aex_settlement.handlers.read_ledger import list_entries, read_account, read_transaction, read_trial_balance
from aex_settlement.handlers.read_settlements import (
    SettlementFilter,
    break_down,
    list_settlements,
    read_settlement,
)
from aex_settlement.rules.visibility import READERS

Reader = Annotated[Principal, Depends(Allow(*READERS))]
Finance = Annotated[Principal, Depends(Allow(Audience.FINANCE))]
Once = Annotated[IdempotentRequest, Depends(idempotent_request)]
Page = Annotated[PageRequest, Depends(page_request)]
FirstDay = Annotated[str | None, Query(alias="from", description="First UTC day, such as 2025-01-01")]
LastDay = Annotated[str | None, Query(alias="to", description="Last UTC day, included")]
AsOf = Annotated[str | None, Query(description="RFC 3339 instant, such as 2025-01-31T12:00:00Z; default now")]
Name = Annotated[str | None, Query(max_length=128, pattern="^[A-Za-z0-9._:@/+-]+$")]
ContractId = Annotated[str, Path(max_length=128)]
AccountId = Annotated[str, Path(max_length=160, description="Such as consumer:acme or platform:fees")]


def routes(deps: Deps) -> APIRouter:
    """Every route of the service."""
    router = service_router(prefix="/v1", tags=["settlement"])
    _settlement_routes(router, deps)
    _ledger_routes(router, deps)
    _account_routes(router, deps)
    return router


def _settlement_routes(router: APIRouter, deps: Deps) -> None:
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
    ) -> dict[str, Any]:
        """Settlements, newest first: finance all, a consumer or an agent its own."""
        given = {"agent_id": agent_id, "consumer_id": consumer_id, "domain": domain, "status": status}
        equal = {name: str(value) for name, value in given.items() if value is not None}
        wanted = SettlementFilter(equal, first_day, last_day)
        found = await list_settlements(deps, reader, wanted, paging.after, paging.limit)
        return page([_shown(each, reader) for each in found.records], found.after, paging)

    @router.get("/settlements/breakdown")  # before {contract_id}, which would take it for a contract
    async def get_breakdown(
        reader: Reader,
        group_by: Annotated[list[str], Query(description="One or two of agent, consumer, domain, day, month")],
        first_day: FirstDay = None,
        last_day: LastDay = None,
        currency: Annotated[str | None, Query(pattern="^[A-Z]{3}$")] = None,
    ) -> dict[str, Any]:
        """Counts and amounts by group, with a total for each currency."""
        return _shown(await break_down(deps, reader, group_by, first_day, last_day, currency), reader)

    @router.get("/settlements/{contract_id}")
    async def get_settlement(reader: Reader, contract_id: ContractId) -> dict[str, Any]:
        """What a contract cost, line by line, with all its revisions."""
        return _shown(await read_settlement(deps, reader, contract_id), reader)


def _ledger_routes(router: APIRouter, deps: Deps) -> None:
    @router.get("/trial-balance")
    async def get_trial_balance(reader: Finance, as_of: AsOf = None) -> dict[str, Any]:
        """All accounts at an instant. Sums to zero in each currency."""
        return _shown(await read_trial_balance(deps, as_of), reader)

    @router.post("/ledger/transactions", status_code=201)
    async def post_ledger_transaction(
        finance: Finance, body: TransactionRequest, once: Once, response: Response
    ) -> dict[str, Any]:
        """Post a deposit (cash +, consumer −) or an adjustment; amounts are integer micros, 1.00 is 1000000."""
        effect = await post_transaction(deps, body, finance.id, once)
        response.headers.update(effect.headers)
        return _shown(await read_transaction(deps, effect.resource_id), finance)


def _account_routes(router: APIRouter, deps: Deps) -> None:
    # Principals may have a slash in their ids, hence `path`; entries first, or they would be part of the id.
    @router.get("/accounts/{account_id:path}/entries")
    async def get_entries(reader: Reader, account_id: AccountId, paging: Page, as_of: AsOf = None) -> dict[str, Any]:
        """An account's postings, newest first; amounts are integer micros, + debit, − credit."""
        found = await list_entries(deps, reader, account_id, as_of, paging.after, paging.limit)
        return page([_shown(each, reader) for each in found.records], found.after, paging)

    @router.get("/accounts/{account_id:path}")
    async def get_account(reader: Reader, account_id: AccountId, as_of: AsOf = None) -> dict[str, Any]:
        """An account's balance in each of its currencies: debits less credits."""
        return _shown(await read_account(deps, reader, account_id, as_of), reader)


def _shown(answer: BaseModel, reader: Principal) -> dict[str, Any]:
    """What this reader may see of an answer; a settlement carries its own feedback level."""
    return project(answer, reader.role)
