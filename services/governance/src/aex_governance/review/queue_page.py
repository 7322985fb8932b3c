"""`/review`: the holds that wait, the longest first; on request those that were decided."""

from dataclasses import replace
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response

from aex_governance.deps import Deps
from aex_governance.handlers.holds.queue import HoldFilter, HoldSlice, Waiting, count_waiting, list_queue
from aex_governance.review.filters import parse_filter, query_of
from aex_governance.review.visible import visible
from aex_governance.review.words import CAUSES, SEVERITIES, lasting
from aex_governance.rules.table import RULES
from aex_models.governance import Flag, HoldStatus, Severity
from aex_runtime.http.pagination import PageRequest, page_request
from aex_runtime.pages.answers import render_page
from aex_runtime.pages.guards import AllowSession
from aex_runtime.pages.paging import same_query
from aex_runtime.pages.site import Site


def queue_page(router: APIRouter, site: Site, deps: Deps) -> None:
    """Declare the page, and the part of it that keeps itself up to date."""
    guard = Depends(AllowSession(site))

    @router.get(site.prefix, dependencies=[guard])
    async def get_queue(request: Request, paging: Annotated[PageRequest, Depends(page_request)]) -> Response:
        wanted = parse_filter(request.query_params)
        found = await list_queue(deps, wanted, paging.after, paging.limit)
        waiting = await count_waiting(deps)
        return _rendered(site, request, wanted, found, waiting, paging, deps.clock.now())

    @router.get(f"{site.prefix}/waiting", dependencies=[guard])
    async def get_waiting(request: Request, seen: Annotated[str, Query(max_length=20)] = "") -> Response:
        waiting = await count_waiting(deps)
        response = render_page(
            site, request, "waiting.html", waiting=waiting, total=total_of(waiting), now=deps.clock.now(), causes=CAUSES
        )
        if seen == total_of(waiting):  # nothing to tell a screen reader anew
            response.headers["HX-Reswap"] = "none"
        return response


def total_of(waiting: Waiting) -> str:
    """How many wait, as the page says it: `12`, or `200+`."""
    return f"{waiting.count}+" if waiting.more else str(waiting.count)


def raised(flags: tuple[Flag, ...]) -> list[tuple[str, Severity]]:
    """Each rule with its gravest severity, the gravest first."""
    worst: dict[str, Severity] = {}
    for flag in sorted(flags, key=lambda each: SEVERITIES.index(each.severity)):
        worst.setdefault(flag.rule, flag.severity)
    return list(worst.items())


def _rendered(
    site: Site,
    request: Request,
    wanted: HoldFilter,
    found: HoldSlice,
    waiting: Waiting,
    paging: PageRequest,
    now: datetime,
) -> Response:
    named = [rule.name for rule in RULES]
    return render_page(
        site,
        request,
        "queue.html",
        wanted=wanted,
        visible=visible,
        is_queue=wanted.status is HoldStatus.WAITING,
        rows=[(hold, raised(hold.flags), lasting(now - hold.held_at)) for hold in found.holds],
        query=same_query(request),
        addresses={status: query_of(replace(wanted, status=status)) for status in HoldStatus},
        waiting=waiting,
        total=total_of(waiting),
        now=now,
        rules=named if wanted.rule in {None, *named} else [wanted.rule, *named],
        causes=CAUSES,
        next_cursor=None if found.after is None else paging.seal.seal(found.after),
        limit=paging.limit,
        is_first=paging.after is None,
    )
