"""The dashboard's routes and navigation, the overview page and the export."""

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
from aex_runtime.pages.sign_in import missing_page_route, site_routes
from aex_runtime.pages.site import NavigationLink, Site, build_site
from aex_runtime.service import ServiceParts
from aex_settlement.dashboard.accounts import account_page, accounts_page
from aex_settlement.dashboard.filters import FILTER_NAMES, parse_filter, presets
from aex_settlement.dashboard.overview import build_overview, groups_for
from aex_settlement.dashboard.settlement import settlement_page, settlements_page
from aex_settlement.deps import Deps
from aex_settlement.handlers.export_settlements import ExportFilter, export_settlements
from aex_settlement.handlers.read_breakdown import read_overview
from aex_settlement.rules.breakdown import MAX_ROWS
from aex_settlement.rules.export import FORMS, ExportFormat
from aex_settlement.rules.settlements import READERS, SettlementFilter, own_dimension

PREFIX = "/dashboard"
MAX_OF_ONE, MAX_OF_ALL, KEPT_FOR_FINANCE = 2, 4, 1
"""Concurrent exports of one process's dashboard; the API's have a limit of their own."""
_QUERY = QueryNames(*FILTER_NAMES)
_PARTIES = frozenset({Audience.CONSUMER, Audience.AGENT})


def dashboard_routes(parts: ServiceParts, deps: Deps) -> APIRouter:
    """Return every page below `/dashboard`."""
    site = dashboard_site(parts)
    router = page_router()
    router.routes += site_routes(site, _QUERY).routes
    overview_page(router, site, deps)
    export_page(router, site, deps)
    for add_page in (settlements_page, settlement_page, accounts_page, account_page):
        add_page(router, site, deps)
    router.routes += missing_page_route(site).routes  # last: it matches every other path
    return router


def dashboard_site(parts: ServiceParts) -> Site:
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


def overview_page(router: APIRouter, site: Site, deps: Deps, max_rows: int = MAX_ROWS) -> None:
    """Add the page. Groups of more than `max_rows` rows are not ranked."""
    guard = AllowSession(site)

    @router.get(site.prefix, dependencies=[Depends(_QUERY)])
    async def get_overview(request: Request, reader: Annotated[Principal, Depends(guard)]) -> Response:
        today = deps.clock.now().date()
        selection = parse_filter(request.query_params, today)
        query = SettlementFilter(selection.fixed_dimensions(), selection.first_day, selection.last_day)
        found = await read_overview(deps, reader, query, groups_for(reader, selection), max_rows)
        return render_page(
            site,
            request,
            "overview.html",
            selection=selection,
            presets=presets(today),
            own=own_dimension(reader),
            view=build_overview(found, reader, selection),
        )


def export_page(router: APIRouter, site: Site, deps: Deps) -> None:
    guard = AllowSession(site)
    limiter = ConcurrencyLimiter(MAX_OF_ONE, MAX_OF_ALL, "exports", "too_many_exports", reserved=KEPT_FOR_FINANCE)

    @router.get(f"{site.prefix}/export", dependencies=[Depends(_QUERY)])
    async def get_export(request: Request, reader: Annotated[Principal, Depends(guard)]) -> Response:
        selection = parse_filter(request.query_params, deps.clock.now().date())
        status = None if selection.status is None else SettlementStatus(selection.status)
        parties = (selection.agent, selection.consumer, selection.domain)
        query = ExportFilter(*parties, selection.currency, status, selection.first_day, selection.last_day)
        pieces = export_settlements(deps, reader, query, ExportFormat.CSV, limiter)
        return Download(
            await _start(pieces),
            filename=f"settlements-{selection.first_day}-{selection.last_day}.csv",
            media_type=FORMS[ExportFormat.CSV].media_type,
        )


async def _start(pieces: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    """Wait for the first piece: a refusal is raised while it can still become a page."""
    first = await anext(pieces, b"")

    async def all_pieces() -> AsyncGenerator[bytes, None]:
        async with aclosing(pieces):
            yield first
            async for piece in pieces:
                yield piece

    return all_pieces()
