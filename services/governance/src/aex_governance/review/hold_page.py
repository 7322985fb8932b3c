"""`/review/holds/{hold_id}`: why an outcome is held, all that is known of it, and the decision."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Request, Response

from aex_governance.deps import Deps
from aex_governance.handlers.holds import decide_hold, get_hold
from aex_governance.handlers.holds.context import read_context
from aex_governance.review.draft import Draft, Step, read_draft
from aex_governance.review.hold_view import hold_view
from aex_governance.review.visible import visible
from aex_governance.review.words import choices
from aex_models.governance import Hold, HoldDecision, HoldStatus
from aex_runtime.errors import Conflict
from aex_runtime.http.idempotency import IdempotentRequest
from aex_runtime.identity.principal import Principal
from aex_runtime.pages.answers import render_page, see
from aex_runtime.pages.forms import posted_form
from aex_runtime.pages.guards import AllowSession
from aex_runtime.pages.site import Site

HoldId = Annotated[str, Path(max_length=128)]
_NO_KEY = IdempotentRequest("", None, "")
"""A hold is decided once, whoever asks how often: a page needs no key."""


def hold_page(router: APIRouter, site: Site, deps: Deps) -> None:
    """Declare the page, and what its form is sent to: the same address."""
    guard = AllowSession(site)

    @router.get(f"{site.prefix}/holds/{{hold_id}}")
    async def get_page(request: Request, operator: Annotated[Principal, Depends(guard)], hold_id: HoldId) -> Response:
        return await _page(site, deps, request, await get_hold(deps, hold_id), operator)

    @router.post(f"{site.prefix}/holds/{{hold_id}}")
    async def post_decision(
        request: Request,
        operator: Annotated[Principal, Depends(guard)],
        form: Annotated[Mapping[str, str], Depends(posted_form)],
        hold_id: HoldId,
    ) -> Response:
        draft = read_draft(form)
        hold = await get_hold(deps, hold_id)
        if hold.status is HoldStatus.WAITING and draft.step is Step.RECORD and draft.stated is not None:
            hold = await _recorded(deps, operator, hold_id, draft.stated)
        if hold.status is HoldStatus.DECIDED:
            if draft.repeats(hold, operator.id):
                return see(f"{site.prefix}/holds/{hold_id}")
            return await _page(site, deps, request, hold, operator, draft, status=409)
        if draft.step is Step.CHANGE:
            return await _page(site, deps, request, hold, operator, Draft(draft.decision, draft.reason))
        if draft.stated is None:
            return await _page(site, deps, request, hold, operator, draft, status=400)
        return _confirmation(site, request, hold, draft)


async def _recorded(deps: Deps, operator: Principal, hold_id: str, stated: HoldDecision) -> Hold:
    """The hold as it stands after this decision, or after that of somebody who was faster."""
    with suppress(Conflict):  # it is decided then, and the page says by whom
        await decide_hold(deps, operator.id, hold_id, stated, _NO_KEY)
    return await get_hold(deps, hold_id)


def _confirmation(site: Site, request: Request, hold: Hold, draft: Draft) -> Response:
    chosen = next(each for each in choices(hold.cause) if each.decision is draft.decision)
    return render_page(site, request, "confirm.html", hold=hold, draft=draft, chosen=chosen)


async def _page(
    site: Site,
    deps: Deps,
    request: Request,
    hold: Hold,
    operator: Principal,
    draft: Draft | None = None,
    *,
    status: int = 200,
) -> Response:
    """Rendered in a thread: evidence may be long, and nobody else waits for it."""
    context = await read_context(deps, operator, hold)
    now = deps.clock.now()

    def rendered() -> Response:
        shown = hold_view(hold, context, operator, now)
        return render_page(
            site,
            request,
            "hold.html",
            status=status,
            shown=shown,
            hold=hold,
            draft=draft or Draft(),
            sent=draft,
            visible=visible,
        )

    return await asyncio.to_thread(rendered)
