"""Pages of accounts: `/dashboard/accounts` with the trial balance, and the page of each account."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, Generic, TypeVar

from fastapi import APIRouter, Depends, Path, Request, Response

from aex_models.audiences import Audience
from aex_models.money import from_micros
from aex_models.settlement import AccountBalance, AccountEntry, Posting
from aex_runtime.http.pagination import PageRequest, page_request
from aex_runtime.http.routing import QueryNames
from aex_runtime.identity.principals import Principal
from aex_runtime.pages.responses import query_without_paging, render_page
from aex_runtime.pages.sessions import AllowSession
from aex_runtime.pages.site import Site
from aex_settlement.dashboard.filters import FILTER_NAMES, build_period_presets, parse_page_filter
from aex_settlement.deps import Deps
from aex_settlement.handlers.read_ledger import list_entries, read_account, read_account_days, read_trial_balance
from aex_settlement.rules.projections import DayBalance

P = TypeVar("P", AccountEntry, Posting)
Row = Mapping[str, Any]
MAX_ACCOUNTS = 500
_MAX_SEARCH = 160


@dataclass(frozen=True, slots=True)
class CurrencyBalances:
    """Accounts of one currency that match a search."""

    currency: str
    rows: tuple[AccountBalance, ...]
    unlisted: int
    """Number of matching accounts that are not listed."""
    total: Decimal
    """Sum over all accounts of the currency: zero unless the ledger is damaged."""


@dataclass(frozen=True, slots=True)
class PostingRow(Generic[P]):
    """Posting or account entry whose amount is displayed as debit or as credit; one of both is None."""

    posting: P
    debit: Decimal | None
    credit: Decimal | None


def group_balances_by_currency(balances: Sequence[AccountBalance], search: str) -> tuple[CurrencyBalances, ...]:
    """Return for each currency the accounts whose name contains `search`, and the total of all accounts."""
    currencies = []
    for currency in sorted({each.currency for each in balances}):
        of_currency = [each for each in balances if each.currency == currency]
        matching = [each for each in of_currency if search in each.account]
        total = sum((each.balance for each in of_currency), Decimal(0))
        currencies.append(
            CurrencyBalances(currency, tuple(matching[:MAX_ACCOUNTS]), max(len(matching) - MAX_ACCOUNTS, 0), total)
        )
    return tuple(currencies)


def build_day_rows(days: Sequence[DayBalance]) -> Mapping[str, Sequence[Row]]:
    """Return for each currency the rows of its days: day, debits, credits and closing balance."""
    figures: dict[str, list[Row]] = {currency: [] for currency in sorted({each.currency for each in days})}
    for each in days:
        amounts = {name: from_micros(getattr(each, name)) for name in ("debits", "credits", "closing")}
        figures[each.currency].append({"day": each.day, **amounts})
    return figures


def build_posting_row(posting: P) -> PostingRow[P]:
    """Return the posting or entry with its amount as debit if it is not negative, else as credit."""
    amount = from_micros(abs(posting.amount))
    return PostingRow(posting, amount, None) if posting.amount >= 0 else PostingRow(posting, None, amount)


def add_accounts_page(router: APIRouter, site: Site, deps: Deps) -> None:
    """Add the page with the trial balance, for finance only."""
    finance = Depends(AllowSession(site, Audience.FINANCE))

    @router.get(f"{site.prefix}/accounts", dependencies=[finance, Depends(QueryNames("as_of", "account"))])
    async def get_accounts(request: Request) -> Response:
        as_of = request.query_params.get("as_of", "").strip()
        search = request.query_params.get("account", "").strip()[:_MAX_SEARCH]
        balance = await read_trial_balance(deps, as_of or None)
        return render_page(
            site,
            request,
            "accounts.html",
            as_of=as_of,
            search=search,
            complete_to=balance.complete_to,
            currencies=group_balances_by_currency(balance.accounts, search),
        )


def add_account_page(router: APIRouter, site: Site, deps: Deps) -> None:
    """Add the page of one account with its days and entries."""
    guard = AllowSession(site)

    @router.get(f"{site.prefix}/accounts/{{account_id:path}}", dependencies=[Depends(QueryNames(*FILTER_NAMES))])
    async def get_account(
        request: Request,
        reader: Annotated[Principal, Depends(guard)],
        paging: Annotated[PageRequest, Depends(page_request)],
        account_id: Annotated[str, Path(max_length=160)],
    ) -> Response:
        today = deps.clock.now().date()
        selection = parse_page_filter(request.query_params, today)
        account = await read_account(deps, reader, account_id, None)
        days = await read_account_days(deps, reader, account_id, selection.first_day, selection.last_day)
        entries = await list_entries(deps, reader, account_id, None, paging.after, paging.limit)
        return render_page(
            site,
            request,
            "account.html",
            account=account,
            selection=selection,
            query=query_without_paging(request),
            presets=build_period_presets(today),
            days=build_day_rows(days),
            entries=map(build_posting_row, entries.records),
            next_cursor=paging.next_cursor(entries.after),
            limit=paging.limit,
            is_first=paging.after is None,
        )
