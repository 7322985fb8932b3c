"""`/dashboard/accounts`, the trial balance, and each account's page."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Request, Response

from aex_models.audiences import Audience
from aex_runtime.http.pagination import PageRequest, page_request
from aex_runtime.identity.principal import Principal
from aex_runtime.pages.answers import render_page
from aex_runtime.pages.guards import AllowSession
from aex_runtime.pages.paging import same_query
from aex_runtime.pages.site import Site
from aex_settlement.dashboard.accounts import balance_sheets, daily_figures, entry_rows
from aex_settlement.dashboard.filters import parse_filter, presets
from aex_settlement.deps import Deps
from aex_settlement.handlers.read_account_days import read_account_days
from aex_settlement.handlers.read_ledger import list_entries, read_account, read_trial_balance

_MAX_SOUGHT = 160


def account_pages(router: APIRouter, site: Site, deps: Deps) -> None:
    """Declare the pages."""
    _accounts_page(router, site, deps)
    _account_page(router, site, deps)


def _accounts_page(router: APIRouter, site: Site, deps: Deps) -> None:
    finance = Depends(AllowSession(site, Audience.FINANCE))

    @router.get(f"{site.prefix}/accounts", dependencies=[finance])
    async def get_accounts(request: Request) -> Response:
        as_of = request.query_params.get("as_of", "").strip()
        sought = request.query_params.get("account", "").strip()[:_MAX_SOUGHT]
        found = await read_trial_balance(deps, as_of or None)
        return render_page(
            site,
            request,
            "accounts.html",
            as_of=as_of,
            sought=sought,
            complete_to=found.complete_to,
            sheets=balance_sheets(found.accounts, sought),
        )


def _account_page(router: APIRouter, site: Site, deps: Deps) -> None:
    guard = AllowSession(site)

    @router.get(f"{site.prefix}/accounts/{{account_id:path}}")
    async def get_account(
        request: Request,
        reader: Annotated[Principal, Depends(guard)],
        paging: Annotated[PageRequest, Depends(page_request)],
        account_id: Annotated[str, Path(max_length=160)],
    ) -> Response:
        today = deps.clock.now().date()
        wanted = parse_filter(request.query_params, today)
        account = await read_account(deps, reader, account_id, None)
        days = await read_account_days(deps, reader, account_id, wanted.first_day, wanted.last_day)
        entries = await list_entries(deps, reader, account_id, None, paging.after, paging.limit)
        next_cursor = None if entries.after is None else paging.seal.seal(entries.after)
        return render_page(
            site,
            request,
            "account.html",
            account=account,
            wanted=wanted,
            query=same_query(request),
            presets=presets(today),
            days=daily_figures(days),
            entries=entry_rows(entries.records),
            next_cursor=next_cursor,
            limit=paging.limit,
            is_first=paging.after is None,
        )
