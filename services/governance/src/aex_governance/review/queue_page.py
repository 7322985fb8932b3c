"""Page `/review`: the operators' queue of held outcomes, and its filter."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Query, Request, Response

from aex_governance.deps import Deps
from aex_governance.handlers.read_holds import HoldFilter, WaitingCount, list_hold_queue, summarize_waiting_holds
from aex_governance.review.escaped_text import escape_hidden_characters
from aex_governance.review.words import CAUSES, SEVERITIES, format_duration
from aex_governance.rules.table import RULES
from aex_models.governance import Flag, HoldCause, HoldStatus, Severity
from aex_models.work import Problem
from aex_runtime.errors import InvalidRequest, summarize_problems
from aex_runtime.http.pagination import PageRequest, page_request
from aex_runtime.http.routing import QueryNames
from aex_runtime.pages.responses import query_without_paging, render_page
from aex_runtime.pages.sessions import AllowSession
from aex_runtime.pages.site import Site

_FILTERS = {
    "status": (re.compile("|".join(HoldStatus)), f"must be one of {', '.join(HoldStatus)}"),
    "cause": (re.compile("|".join(HoldCause)), f"must be one of {', '.join(HoldCause)}"),
    "rule": (re.compile(r"[a-z][a-z0-9_]{0,63}"), "must be a rule's name, such as duplicate_output"),
}


FIRST_PAGE_QUERY = QueryNames(*_FILTERS, "limit", "cursor")


def add_queue_page(router: APIRouter, site: Site, deps: Deps) -> None:
    """Add the routes of the queue and of its counter of waiting holds, which the browser refreshes."""
    guard = Depends(AllowSession(site))

    @router.get(site.prefix, dependencies=[guard, Depends(FIRST_PAGE_QUERY)])
    async def get_queue(request: Request, paging: Annotated[PageRequest, Depends(page_request)]) -> Response:
        return await _queue(site, deps, request, paging)

    @router.get(f"{site.prefix}/waiting", dependencies=[guard])
    async def get_waiting(request: Request, seen: Annotated[str, Query(max_length=20)] = "") -> Response:
        waiting = await summarize_waiting_holds(deps)
        response = render_page(
            site,
            request,
            "waiting.html",
            waiting=waiting,
            total=format_waiting_total(waiting),
            now=deps.clock.now(),
            causes=CAUSES,
        )
        if seen == format_waiting_total(waiting):  # else a screen reader repeats it
            response.headers["HX-Reswap"] = "none"
        return response


def parse_hold_filter(query: Mapping[str, str]) -> HoldFilter:
    """Return the filter in a query string; an empty field matches all.

    Without a status, waiting holds match. Raises `InvalidRequest` with each invalid field and its valid values.
    """
    texts = {name: query.get(name, "").strip() or None for name in _FILTERS}
    problems = [
        Problem(path=f"query/{name}", code="invalid_filter", message=f"{name} {hint}")
        for name, (pattern, hint) in _FILTERS.items()
        for text in [texts[name]]
        if text is not None and pattern.fullmatch(text) is None
    ]
    if problems:
        raise InvalidRequest("invalid_filter", summarize_problems(problems), problems)
    return HoldFilter(
        status=HoldStatus(texts["status"] or HoldStatus.WAITING),
        cause=None if texts["cause"] is None else HoldCause(texts["cause"]),
        rule=texts["rule"],
    )


def format_waiting_total(waiting: WaitingCount) -> str:
    """Return the number of waiting holds, such as `12`, or `200+` above the counted limit."""
    return f"{waiting.count}+" if waiting.has_more else str(waiting.count)


def find_highest_severities(flags: tuple[Flag, ...]) -> list[tuple[str, Severity]]:
    """Return each flagging rule with the highest severity of its flags, the most severe rule first."""
    worst: dict[str, Severity] = {}
    for flag in sorted(flags, key=lambda each: SEVERITIES.index(each.severity)):
        worst.setdefault(flag.rule, flag.severity)
    return list(worst.items())


async def _queue(site: Site, deps: Deps, request: Request, paging: PageRequest) -> Response:
    hold_filter = parse_hold_filter(request.query_params)
    found = await list_hold_queue(deps, hold_filter, paging)
    waiting, now = await summarize_waiting_holds(deps), deps.clock.now()
    names = [rule.name for rule in RULES]
    return render_page(
        site,
        request,
        "queue.html",
        hold_filter=hold_filter,
        escape_text=escape_hidden_characters,
        is_queue=hold_filter.status is HoldStatus.WAITING,
        rows=[(hold, find_highest_severities(hold.flags), format_duration(now - hold.held_at)) for hold in found.items],
        query=query_without_paging(request),
        addresses={status: urlencode(replace(hold_filter, status=status).to_query_fields()) for status in HoldStatus},
        waiting=waiting,
        total=format_waiting_total(waiting),
        now=now,
        rules=names if hold_filter.rule in {None, *names} else [hold_filter.rule, *names],
        causes=CAUSES,
        next_cursor=paging.next_cursor(found.after),
        limit=paging.limit,
        is_first=paging.after is None,
    )
