"""Page `/review/holds/{hold_id}`: the hold, related records, and the form of the decision."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Request, Response

from aex_governance.deps import Deps
from aex_governance.handlers.decide_hold import decide_hold
from aex_governance.handlers.read_holds import get_hold, read_hold_context
from aex_governance.review.decision_form import DecisionForm, FormStep, parse_decision_form
from aex_governance.review.escaped_text import escape_hidden_characters
from aex_governance.review.hold_view import build_hold_view
from aex_governance.review.words import decision_options
from aex_models.governance import Hold, HoldDecision, HoldStatus
from aex_runtime.errors import Conflict
from aex_runtime.http.idempotency import IdempotentRequest
from aex_runtime.identity.principals import Principal
from aex_runtime.pages.forms import read_form
from aex_runtime.pages.responses import redirect_to, render_page
from aex_runtime.pages.sessions import AllowSession
from aex_runtime.pages.site import Site

HoldId = Annotated[str, Path(max_length=128)]
_NO_KEY = IdempotentRequest("", None, "")
"""Request without an idempotency key: a hold is decided only once anyway."""


def add_hold_page(router: APIRouter, site: Site, deps: Deps) -> None:
    """Add the routes that display a hold's page and receive its form."""
    guard = AllowSession(site)

    @router.get(f"{site.prefix}/holds/{{hold_id}}")
    async def get_page(request: Request, operator: Annotated[Principal, Depends(guard)], hold_id: HoldId) -> Response:
        return await _page(site, deps, request, await get_hold(deps, hold_id), operator)

    @router.post(f"{site.prefix}/holds/{{hold_id}}")
    async def post_decision(
        request: Request,
        operator: Annotated[Principal, Depends(guard)],
        fields: Annotated[Mapping[str, str], Depends(read_form)],
        hold_id: HoldId,
    ) -> Response:
        form = parse_decision_form(fields)
        hold = await get_hold(deps, hold_id)
        if hold.status is HoldStatus.WAITING and form.step is FormStep.RECORD and form.hold_decision is not None:
            hold = await _record(deps, operator, hold_id, form.hold_decision)
        if hold.status is HoldStatus.DECIDED:
            if form.is_already_recorded(hold, operator.id):
                return redirect_to(f"{site.prefix}/holds/{hold_id}")
            return await _page(site, deps, request, hold, operator, form, status=409)
        if form.step is FormStep.CHANGE:
            return await _page(site, deps, request, hold, operator, DecisionForm(form.decision, form.reason))
        if form.hold_decision is None:
            return await _page(site, deps, request, hold, operator, form, status=400)
        return _confirmation(site, request, hold, form)


async def _record(deps: Deps, operator: Principal, hold_id: str, decision: HoldDecision) -> Hold:
    with suppress(Conflict):  # another operator decided first; the page names them
        await decide_hold(deps, operator.id, hold_id, decision, _NO_KEY)
    return await get_hold(deps, hold_id)


def _confirmation(site: Site, request: Request, hold: Hold, form: DecisionForm) -> Response:
    option = next(each for each in decision_options(hold.cause) if each.decision is form.decision)
    return render_page(site, request, "confirm.html", hold=hold, form=form, option=option)


async def _page(
    site: Site,
    deps: Deps,
    request: Request,
    hold: Hold,
    operator: Principal,
    form: DecisionForm | None = None,
    *,
    status: int = 200,
) -> Response:
    context = await read_hold_context(deps, operator, hold)
    now = deps.clock.now()

    def render() -> Response:
        view = build_hold_view(hold, context, operator, now)
        return render_page(
            site,
            request,
            "hold.html",
            status=status,
            view=view,
            hold=hold,
            form=form or DecisionForm(),
            sent=form,
            escape_text=escape_hidden_characters,
        )

    return await asyncio.to_thread(render)  # evidence may be long
