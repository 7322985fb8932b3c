"""HTTP routes of the service. Each parses the request, calls one handler, and removes hidden fields."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Response
from structlog.contextvars import bind_contextvars

from aex_governance.deps import Deps
from aex_governance.handlers.decide_hold import decide_hold
from aex_governance.handlers.read_holds import get_hold, list_holds
from aex_governance.handlers.read_profile import read_profile
from aex_governance.handlers.validate_outcome import validate_outcome
from aex_governance.rules.table import RULES
from aex_models.audiences import project
from aex_models.frozen import Identifier
from aex_models.governance import HoldCause, HoldDecision, HoldStatus, Rule, ValidationRequest
from aex_runtime.http.auth import ANYONE, Allow, Principal
from aex_runtime.http.idempotency import IdempotentRequest, idempotent_request
from aex_runtime.http.listing import encoded_json_response
from aex_runtime.http.pagination import PageRequest, page_request
from aex_runtime.http.routing import service_router

Service = Annotated[Principal, Depends(Allow("service"))]
Operator = Annotated[Principal, Depends(Allow("operator"))]
Anyone = Annotated[Principal, Depends(Allow(*ANYONE))]
ProfileReader = Annotated[Principal, Depends(Allow("agent", "operator", "service"))]
AgentId = Annotated[str, Path(min_length=1, max_length=128, pattern=r"^[A-Za-z0-9._:@/+-]+$")]
Idempotent = Annotated[IdempotentRequest, Depends(idempotent_request)]
Paging = Annotated[PageRequest, Depends(page_request)]
Json = dict[str, Any]


def routes(deps: Deps) -> APIRouter:
    """Return a router with every route of the JSON API."""
    router = service_router(prefix="/v1", tags=["governance"])
    _validation_routes(router, deps)
    _hold_routes(router, deps)
    _profile_routes(router, deps)
    return router


def _validation_routes(router: APIRouter, deps: Deps) -> None:
    @router.post("/outcomes/validate", summary="Decide on one attempt before it becomes final")
    async def validate(request: ValidationRequest, caller: Service) -> Json:
        bind_contextvars(contract_id=request.contract_id, attempt_id=request.attempt_id)
        # Idempotent by attempt, hence without an Idempotency-Key.
        return project(await validate_outcome(deps, request), caller.role)

    @router.get("/rules", summary="Every fraud rule, with its thresholds")
    async def rules(reader: Anyone) -> Json:
        items = [
            Rule(
                name=rule.name,
                description=rule.description,
                actions={severity.value: action.value for severity, action in rule.actions.items()},
                thresholds=deps.rules[rule.name].thresholds,
                threshold_notes=dict(rule.threshold_notes),
                enabled=deps.rules[rule.name].enabled,
            )
            for rule in RULES
        ]
        return {"items": [project(item, reader.role) for item in items]}


def _hold_routes(router: APIRouter, deps: Deps) -> None:
    @router.get("/holds", summary="Held outcomes, newest first", response_model=Json)
    async def holds(
        reader: Operator,
        paging: Paging,
        status: HoldStatus | None = None,
        contract_id: Identifier | None = None,
        agent_id: Identifier | None = None,
        consumer_id: Identifier | None = None,
        cause: HoldCause | None = None,
    ) -> Response:
        """Return a page of held outcomes, filtered by status and contract where these are given.

        At most two of the filters `agent_id`, `consumer_id` and `cause` are allowed at once. A page ends at `limit`
        items, or at 1 MB of stored records, and has at least one.
        """
        filters = {"agent_id": agent_id, "consumer_id": consumer_id, "cause": cause}
        return encoded_json_response(await list_holds(deps, reader, paging, status, contract_id, filters))

    @router.get("/holds/{hold_id}", summary="One hold")
    async def one_hold(hold_id: str, reader: Operator) -> Json:
        return project(await get_hold(deps, hold_id), reader.role)

    @router.post("/holds/{hold_id}/decision", summary="Release, reject or retry a held outcome")
    async def decide(
        hold_id: str, decision: HoldDecision, operator: Operator, request: Idempotent, response: Response
    ) -> Json:
        effect = await decide_hold(deps, operator.id, hold_id, decision, request)
        response.headers.update(effect.headers)
        return project(await get_hold(deps, effect.resource_id), operator.role)


def _profile_routes(router: APIRouter, deps: Deps) -> None:
    # Principals may have a slash in their ids, hence `path`.
    @router.get("/agents/{agent_id:path}/profile", summary="An agent's record")
    async def profile(agent_id: AgentId, reader: ProfileReader, paging: Paging) -> Json:
        """Return outcomes, success rate and flags of an agent, in total and by domain.

        An agent reads only its own profile, without flags. Each page has the totals of all domains; `domains` is one
        page of them, by name. An unknown agent has zero counts; a success rate without outcomes is null.
        """
        after = None if paging.after is None else str(paging.after[0])
        found = await read_profile(deps, reader, agent_id, after, paging.limit)
        next_cursor = paging.next_cursor(None if found.after is None else (found.after, ""))
        return {**project(found.profile, reader.role), "next_cursor": next_cursor}
