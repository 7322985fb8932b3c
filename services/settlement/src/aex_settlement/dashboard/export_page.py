"""`/dashboard/export`: the API's export for whoever is signed in here, as a file."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from aex_models.settlement import SettlementStatus
from aex_runtime.http.download import Download
from aex_runtime.http.turnstile import Turnstile
from aex_runtime.identity.principal import Principal
from aex_runtime.pages.guards import AllowSession
from aex_runtime.pages.site import Site
from aex_settlement.dashboard.filters import Filter, parse_filter
from aex_settlement.deps import Deps
from aex_settlement.handlers.export_settlements import ExportFilter, export_settlements
from aex_settlement.rules.export_formats import FORMS, ExportFormat

MAX_OF_ONE, MAX_OF_ALL, KEPT_FOR_FINANCE = 2, 4, 1
"""How many exports run at once from the dashboard of one process; the API's have places of their own."""


def export_page(router: APIRouter, site: Site, deps: Deps) -> None:
    """Declare the route."""
    guard = AllowSession(site)
    turnstile = Turnstile(MAX_OF_ONE, MAX_OF_ALL, "exports", "too_many_exports", kept=KEPT_FOR_FINANCE)

    @router.get(f"{site.prefix}/export")
    async def get_export(request: Request, reader: Annotated[Principal, Depends(guard)]) -> Response:
        wanted = parse_filter(request.query_params, deps.clock.now().date())
        pieces = export_settlements(deps, reader, _sought(wanted), ExportFormat.CSV, turnstile)
        return Download(
            await _begun(pieces),
            filename=f"settlements-{wanted.first_day}-{wanted.last_day}.csv",
            media_type=FORMS[ExportFormat.CSV].media_type,
        )


def _sought(wanted: Filter) -> ExportFilter:
    return ExportFilter(
        agent_id=wanted.agent,
        consumer_id=wanted.consumer,
        domain=wanted.domain,
        currency=wanted.currency,
        status=None if wanted.status is None else SettlementStatus(wanted.status),
        first_day=wanted.first_day,
        last_day=wanted.last_day,
    )


async def _begun(pieces: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    """The pieces, of which the first is there: a refusal is raised now, while it can still become a page."""
    first = await anext(pieces, b"")

    async def all_of_them() -> AsyncGenerator[bytes, None]:
        async with aclosing(pieces):
            yield first
            async for piece in pieces:
                yield piece

    return all_of_them()
