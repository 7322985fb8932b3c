"""`/dashboard`: what was paid in a period, by day, to whom and for what."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from aex_runtime.identity.principal import Principal
from aex_runtime.pages.answers import render_page
from aex_runtime.pages.guards import AllowSession
from aex_runtime.pages.site import Site
from aex_settlement.dashboard.filters import parse_filter, presets
from aex_settlement.dashboard.overview import groups_for, overview
from aex_settlement.deps import Deps
from aex_settlement.handlers.read_overview import OverviewFilter, read_overview
from aex_settlement.rules.breakdown import MAX_ROWS
from aex_settlement.rules.visibility import own_dimension


def overview_page(router: APIRouter, site: Site, deps: Deps, max_rows: int = MAX_ROWS) -> None:
    """Declare the page. `max_rows`: of how many the largest are looked for."""
    guard = AllowSession(site)

    @router.get(site.prefix)
    async def get_overview(request: Request, reader: Annotated[Principal, Depends(guard)]) -> Response:
        today = deps.clock.now().date()
        wanted = parse_filter(request.query_params, today)
        sought = OverviewFilter(wanted.equal(), wanted.first_day, wanted.last_day)
        found = await read_overview(deps, reader, sought, groups_for(reader, wanted), max_rows)
        return render_page(
            site,
            request,
            "overview.html",
            wanted=wanted,
            presets=presets(today),
            own=own_dimension(reader),
            shown=overview(found, reader, wanted),
        )
