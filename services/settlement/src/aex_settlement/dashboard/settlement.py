"""Pages of settlements: the list `/dashboard/settlements`, and the page of each settlement."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Request, Response

from aex_models.audiences import project
from aex_models.money import ZERO
from aex_models.settlement import LedgerTransaction, Settlement
from aex_runtime.http.pagination import PageRequest, page_request
from aex_runtime.http.routing import QueryNames
from aex_runtime.identity.principals import Principal
from aex_runtime.pages.responses import query_without_paging, render_page
from aex_runtime.pages.sessions import AllowSession
from aex_runtime.pages.site import Site
from aex_settlement.dashboard.accounts import build_posting_row
from aex_settlement.dashboard.filters import FILTER_NAMES, build_period_presets, parse_page_filter
from aex_settlement.deps import Deps
from aex_settlement.handlers.read_ledger import read_settlement, read_settlement_page, read_transactions
from aex_settlement.repository.ledger import FILTERS
from aex_settlement.rules.audit_transactions import records_of_settlement
from aex_settlement.rules.settlements import SettlementFilter, may_read_account, own_dimension_filter, render_settlement

Row = Mapping[str, Any]
_SIGNS = {"gte": "≥", "lte": "≤", "gt": ">", "lt": "<", "eq": "=", "neq": "≠"}
_MAX_INLINE = 10
"""Number of transactions above which the page is rendered in a thread."""


@dataclass(frozen=True, slots=True)
class SettlementView:
    """Content of a settlement's page."""

    record: Row
    """Fields of the settlement that the reader may see."""
    criteria: tuple[Row, ...]
    """Criteria. `value` is None if it was not measured; `withheld` is true if the reader may not see it."""
    judged_revision: int | None
    """Revision to which the criteria belong; None if no revision has criteria."""
    transactions: tuple[Row, ...]
    """Ledger transactions with the postings that the reader may see."""
    negative_penalty: Decimal
    """Penalty as a negative part of the total: 0 or below."""


def build_settlement_view(
    settlement: Settlement, transactions: Sequence[LedgerTransaction], reader: Principal
) -> SettlementView:
    """Return the content of a settlement's page, with the criteria of the latest revision that has any."""
    record = render_settlement(settlement, reader)
    judged = next((each for each in reversed(record["revisions"]) if each["cost"]["lines"]), None)
    return SettlementView(
        record=record,
        criteria=() if judged is None else tuple(map(_line, judged["cost"]["lines"])),
        judged_revision=None if judged is None else judged["revision"],
        transactions=tuple(_transaction_row(each, reader) for each in transactions),
        negative_penalty=ZERO - Decimal(record["cost"]["penalty"]),  # not `-`, which makes a negative 0 of 0
    )


def _line(fields: Row) -> Row:
    condition = _condition(str(fields["comparison"]), fields["threshold"])
    return {"value": None, **fields, "condition": condition, "withheld": "value" not in fields}


def _condition(comparison: str, threshold: object) -> str:
    """Return text such as `≥ 0.4` or `in range 1 to 5`; a schema is only named."""
    sign = _SIGNS.get(comparison, comparison.replace("_", " "))
    if isinstance(threshold, dict):
        is_range = threshold.keys() == {"min", "max"}
        return f"{sign} {threshold['min']} to {threshold['max']}" if is_range else f"{sign} a schema"
    if isinstance(threshold, list):
        return f"{sign} {', '.join(map(str, threshold))}"
    return f"{sign} {str(threshold).lower() if isinstance(threshold, bool) else threshold}"


def _transaction_row(transaction: LedgerTransaction, reader: Principal) -> Row:
    postings = [build_posting_row(each) for each in transaction.postings if may_read_account(reader, each.account)]
    return {**project(transaction, reader.role), "postings": postings}


def add_settlements_page(router: APIRouter, site: Site, deps: Deps) -> None:
    """Add the page that lists settlements."""
    guard = AllowSession(site)

    @router.get(f"{site.prefix}/settlements", dependencies=[Depends(QueryNames(*FILTER_NAMES))])
    async def get_settlements(
        request: Request,
        reader: Annotated[Principal, Depends(guard)],
        paging: Annotated[PageRequest, Depends(page_request)],
    ) -> Response:
        today = deps.clock.now().date()
        # Settlements are not listed by currency.
        selection = replace(parse_page_filter(request.query_params, today), currency=None)
        filters = (selection.agent, selection.consumer, selection.domain, selection.status)
        equal = {name: value for name, value in zip(FILTERS, filters, strict=True) if value is not None}
        query = SettlementFilter(equal, selection.first_day, selection.last_day)
        found = await read_settlement_page(deps, reader, query, paging)
        return render_page(
            site,
            request,
            "settlements.html",
            selection=selection,
            query=query_without_paging(request),
            presets=build_period_presets(today),
            own=own_dimension_filter(reader),
            rows=found.items,
            next_cursor=paging.next_cursor(found.after),
            limit=paging.limit,
            is_first=paging.after is None,
        )


def add_settlement_page(router: APIRouter, site: Site, deps: Deps) -> None:
    """Add the page of one settlement with its criteria and transactions."""
    guard = AllowSession(site)

    @router.get(f"{site.prefix}/settlements/{{contract_id}}")
    async def get_settlement(
        request: Request,
        reader: Annotated[Principal, Depends(guard)],
        contract_id: Annotated[str, Path(max_length=128)],
    ) -> Response:
        settlement = await read_settlement(deps, reader, contract_id)
        ids = [record.transaction_id for record in records_of_settlement(settlement)]
        transactions = await read_transactions(deps, ids)

        def render() -> Response:
            view = build_settlement_view(settlement, transactions, reader)
            return render_page(site, request, "settlement.html", view=view, own=own_dimension_filter(reader))

        return render() if len(transactions) <= _MAX_INLINE else await asyncio.to_thread(render)
