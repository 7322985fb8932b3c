"""Router and navigation of the dashboard, the overview page and the CSV export."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from aex_models.audiences import Audience
from aex_models.settlement import SettlementStatus
from aex_runtime.http.limits import ConcurrencyLimiter
from aex_runtime.http.routing import QueryNames
from aex_runtime.http.streaming import Download
from aex_runtime.identity.principals import Principal
from aex_runtime.pages.errors import page_router
from aex_runtime.pages.responses import render_page
from aex_runtime.pages.sessions import AllowSession
from aex_runtime.pages.sign_in import not_found_page_route, site_routes
from aex_runtime.pages.site import NavigationLink, Site, build_site
from aex_runtime.service import ServiceParts
from aex_settlement.dashboard.accounts import add_account_page, add_accounts_page
from aex_settlement.dashboard.filters import FILTER_NAMES, build_period_presets, parse_page_filter
from aex_settlement.dashboard.overview import build_overview, choose_overview_groups
from aex_settlement.dashboard.settlement import add_settlement_page, add_settlements_page
from aex_settlement.deps import Deps
from aex_settlement.handlers.export_settlements import ExportFilter, export_settlements
from aex_settlement.handlers.read_breakdown import read_breakdown_per_group
from aex_settlement.rules.breakdown import MAX_ROWS
from aex_settlement.rules.export import EXPORT_ENCODERS, ExportFormat
from aex_settlement.rules.settlements import READERS, SettlementFilter, own_dimension_filter

PREFIX = "/dashboard"
MAX_OF_ONE, MAX_OF_ALL, KEPT_FOR_FINANCE = 2, 4, 1
"""Limits of concurrent exports from the dashboard in one process: per caller, in total, and reserved for finance."""
_QUERY = QueryNames(*FILTER_NAMES)
_PARTIES = frozenset({Audience.CONSUMER, Audience.AGENT})


def dashboard_routes(parts: ServiceParts, deps: Deps) -> APIRouter:
    """Return a router with every page below `/dashboard`."""
    site = build_dashboard_site(parts)
    router = page_router()
    router.routes += site_routes(site, _QUERY).routes
    add_overview_page(router, site, deps)
    add_export_download(router, site, deps)
    for add_page in (add_settlements_page, add_settlement_page, add_accounts_page, add_account_page):
        add_page(router, site, deps)
    router.routes += not_found_page_route(site).routes  # last: it matches every other path
    return router


def build_dashboard_site(parts: ServiceParts) -> Site:
    """Return title, allowed roles and navigation of the pages."""
    return build_site(
        parts,
        title="Settlement",
        prefix=PREFIX,
        package="aex_settlement.dashboard",
        roles=READERS,
        navigation=(
            NavigationLink("Overview", PREFIX, frozenset(READERS)),
            NavigationLink("Settlements", f"{PREFIX}/settlements", frozenset(READERS)),
            NavigationLink("Accounts", f"{PREFIX}/accounts", frozenset({Audience.FINANCE})),
            NavigationLink("Account", f"{PREFIX}/accounts/{{role}}:{{id}}", _PARTIES),
        ),
    )


def add_overview_page(router: APIRouter, site: Site, deps: Deps, max_rows: int = MAX_ROWS) -> None:
    """Add the overview page. A dimension with more than `max_rows` groups is not ranked."""
    guard = AllowSession(site)

    @router.get(site.prefix, dependencies=[Depends(_QUERY)])
    async def get_overview(request: Request, reader: Annotated[Principal, Depends(guard)]) -> Response:
        today = deps.clock.now().date()
        selection = parse_page_filter(request.query_params, today)
        query = SettlementFilter(selection.fixed_dimensions(), selection.first_day, selection.last_day)
        found = await read_breakdown_per_group(deps, reader, query, choose_overview_groups(reader, selection), max_rows)
        return render_page(
            site,
            request,
            "overview.html",
            selection=selection,
            presets=build_period_presets(today),
            own=own_dimension_filter(reader),
            view=build_overview(found, reader, selection),
        )


def add_export_download(router: APIRouter, site: Site, deps: Deps) -> None:
    """Add the download of settlements as CSV."""
    guard = AllowSession(site)
    limiter = ConcurrencyLimiter(MAX_OF_ONE, MAX_OF_ALL, "exports", "too_many_exports", reserved=KEPT_FOR_FINANCE)

    @router.get(f"{site.prefix}/export", dependencies=[Depends(_QUERY)])
    async def get_export(request: Request, reader: Annotated[Principal, Depends(guard)]) -> Response:
        selection = parse_page_filter(request.query_params, deps.clock.now().date())
        status = None if selection.status is None else SettlementStatus(selection.status)
        parties = (selection.agent, selection.consumer, selection.domain)
        query = ExportFilter(*parties, selection.currency, status, selection.first_day, selection.last_day)
        pieces = export_settlements(deps, reader, query, ExportFormat.CSV, limiter)
        return Download(
            await _start(pieces),
            filename=f"settlements-{selection.first_day}-{selection.last_day}.csv",
            media_type=EXPORT_ENCODERS[ExportFormat.CSV].media_type,
        )


async def _start(pieces: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    """Wait for the first piece, so that a refusal is raised while it can still become an error page."""
    first = await anext(pieces, b"")

    async def all_pieces() -> AsyncGenerator[bytes, None]:
        async with aclosing(pieces):
            yield first
            async for piece in pieces:
                yield piece

    return all_pieces()
