"""`/dashboard/settlements` and each settlement's page."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Request, Response

from aex_models.audiences import project
from aex_models.settlement import LedgerTransaction, Settlement
from aex_runtime.http.pagination import PageRequest, page, page_request
from aex_runtime.identity.principal import Principal
from aex_runtime.pages.answers import render_page
from aex_runtime.pages.guards import AllowSession
from aex_runtime.pages.paging import same_query
from aex_runtime.pages.site import Site
from aex_settlement.dashboard.filters import Filter, parse_filter, presets
from aex_settlement.dashboard.settlement import settlement_view
from aex_settlement.deps import Deps
from aex_settlement.handlers.read_ledger import read_transactions
from aex_settlement.handlers.read_settlements import SettlementFilter, list_settlements, read_settlement
from aex_settlement.rules.ids import reversal_transaction_id, settlement_transaction_id
from aex_settlement.rules.visibility import own_dimension

_FEW = 10
"""Transactions that are rendered at once; more in a thread, so that nobody else waits for them."""


def settlement_pages(router: APIRouter, site: Site, deps: Deps) -> None:
    """Declare the pages."""
    guard = AllowSession(site)

    @router.get(f"{site.prefix}/settlements")
    async def get_settlements(
        request: Request,
        reader: Annotated[Principal, Depends(guard)],
        paging: Annotated[PageRequest, Depends(page_request)],
    ) -> Response:
        today = deps.clock.now().date()
        wanted = replace(parse_filter(request.query_params, today), currency=None)  # settlements are not listed by it
        found = await list_settlements(deps, reader, _sought(wanted), paging.after, paging.limit)
        rows = page([project(each, reader.role) for each in found.records], found.after, paging)
        return render_page(
            site,
            request,
            "settlements.html",
            wanted=wanted,
            query=same_query(request),
            presets=presets(today),
            own=own_dimension(reader),
            rows=rows["items"],
            next_cursor=rows["next_cursor"],
            limit=paging.limit,
            is_first=paging.after is None,
        )

    @router.get(f"{site.prefix}/settlements/{{contract_id}}")
    async def get_settlement(
        request: Request,
        reader: Annotated[Principal, Depends(guard)],
        contract_id: Annotated[str, Path(max_length=128)],
    ) -> Response:
        settlement = await read_settlement(deps, reader, contract_id)
        booked = await read_transactions(deps, _transaction_ids(settlement))

        def rendered() -> Response:
            return _settlement_page(site, request, settlement, booked, reader)

        return rendered() if len(booked) <= _FEW else await asyncio.to_thread(rendered)


def _settlement_page(
    site: Site, request: Request, settlement: Settlement, booked: Sequence[LedgerTransaction], reader: Principal
) -> Response:
    shown = settlement_view(settlement, booked, reader)
    return render_page(site, request, "settlement.html", shown=shown, own=own_dimension(reader))


def _sought(wanted: Filter) -> SettlementFilter:
    equal = {"agent_id": wanted.agent, "consumer_id": wanted.consumer, "domain": wanted.domain, "status": wanted.status}
    named = {name: value for name, value in equal.items() if value is not None}
    return SettlementFilter(named, wanted.first_day, wanted.last_day)


def _transaction_ids(settlement: Settlement) -> list[str]:
    """What booked the settlement, oldest first: each revision, and its reversal where it was taken back."""
    ids: list[str] = []
    for each in settlement.revisions:
        ids.append(settlement_transaction_id(settlement.contract_id, each.revision))
        if each.reversed_at is not None:
            ids.append(reversal_transaction_id(settlement.contract_id, each.revision))
    return ids
