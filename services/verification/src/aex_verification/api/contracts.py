"""Routes of contracts, of their attempts, and of agents' artifacts."""

from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Response

from aex_models.audiences import project
from aex_models.contract import Candidate, ContractStatus
from aex_models.frozen import Identifier
from aex_models.governance import Party
from aex_runtime.artifacts import artifact_routes
from aex_runtime.http.auth import Allow, Principal
from aex_runtime.http.idempotency import IdempotentRequest, idempotent_request
from aex_runtime.http.listing import encoded_json_response
from aex_runtime.http.pagination import PageRequest, page_request
from aex_runtime.http.routing import service_router
from aex_verification.deps import Deps
from aex_verification.handlers.artifacts import find_readable_artifact_size, make_upload_store
from aex_verification.handlers.close import cancel_contract, decline_contract, finalise_contract
from aex_verification.handlers.follow_contract import GRADED, wait_until_graded_or_held
from aex_verification.handlers.lists import list_attempts, list_contracts
from aex_verification.handlers.read import (
    end_if_due_and_load_visible_contract,
    load_attempt,
    make_attempt_view,
    render_attempt,
    render_contract,
)
from aex_verification.handlers.submit_output import submit_output

Parties = Annotated[Principal, Depends(Allow("consumer", "agent", "operator"))]
Agent = Annotated[Principal, Depends(Allow("agent"))]
Consumer = Annotated[Principal, Depends(Allow("consumer"))]
Idempotent = Annotated[IdempotentRequest, Depends(idempotent_request)]
Paging = Annotated[PageRequest, Depends(page_request)]
WorkId = Annotated[Identifier | None, Query(description="The contract of this work alone")]
Json = dict[str, Any]

MAX_WAIT_S = 30
_POST_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {"description": "The verdict: it came in time, or stands from before", "model": Json},
    202: {"description": "Taken; there is no verdict yet"},
}


def contract_routes(deps: Deps) -> APIRouter:
    """Return a router with the routes of contracts and their attempts."""
    router = service_router("/v1", tags=["contracts"])
    _add_contracts(router, deps)
    _add_attempts(router, deps)
    _add_closing(router, deps)
    return router


def _add_contracts(router: APIRouter, deps: Deps) -> None:
    @router.get("/contracts", summary="The caller's contracts, newest first", response_model=Json)
    async def contracts(
        reader: Parties, paging: Paging, work_id: WorkId = None, status: ContractStatus | None = None
    ) -> Response:
        """Return a page, which ends at `limit` items, or at 1 MB of stored records, and has at least one item."""
        return encoded_json_response(await list_contracts(deps, reader, paging, work_id, status))

    @router.get("/contracts/{contract_id}", summary="One contract")
    async def get_contract(contract_id: str, reader: Parties) -> Json:
        return await render_contract(
            deps, reader, await end_if_due_and_load_visible_contract(deps, reader, contract_id)
        )

    @router.post(
        "/contracts/{contract_id}/outputs", status_code=202, summary="Post a candidate", responses=_POST_RESPONSES
    )
    async def post_output(
        contract_id: str,
        candidate: Candidate,
        agent: Agent,
        request: Idempotent,
        response: Response,
        wait_s: Annotated[float, Query(ge=0, le=MAX_WAIT_S, description="Wait so long for the verdict")] = 0,
    ) -> Json:
        party = Party(id=agent.id, org=agent.org)
        submitted = await submit_output(deps, party, contract_id, candidate, request)
        effect = submitted.effect
        row = await wait_until_graded_or_held(deps, contract_id, effect.resource_id, wait_s)
        response.status_code = 200 if row.status in GRADED else 202
        response.headers.update(effect.headers)
        response.headers["Location"] = f"/v1/contracts/{contract_id}/attempts/{row.attempt_id}"
        view = await make_attempt_view(deps, row, replay=submitted.is_known or effect.is_replay)
        # A known candidate may have been counted; this posting of it was not.
        return project(view.model_copy(update={"counted": False}) if submitted.is_known else view, agent.role)


def _add_attempts(router: APIRouter, deps: Deps) -> None:
    @router.get("/contracts/{contract_id}/attempts", summary="A contract's attempts, oldest first", response_model=Json)
    async def attempts(contract_id: str, reader: Parties, paging: Paging) -> Response:
        """Return a page, which ends at `limit` items, or at 1 MB with candidates, and has at least one item."""
        await end_if_due_and_load_visible_contract(deps, reader, contract_id)
        return encoded_json_response(await list_attempts(deps, reader, contract_id, paging))

    @router.get("/contracts/{contract_id}/attempts/{attempt_id}", summary="One attempt")
    async def get_attempt(contract_id: str, attempt_id: str, reader: Parties) -> Json:
        await end_if_due_and_load_visible_contract(deps, reader, contract_id)
        return await render_attempt(deps, reader, await load_attempt(deps, contract_id, attempt_id))


def _add_closing(router: APIRouter, deps: Deps) -> None:
    @router.post("/contracts/{contract_id}/finalize", summary="Settle early with the best judged candidate")
    async def finalise(contract_id: str, agent: Agent, request: Idempotent, response: Response) -> Json:
        effect = await finalise_contract(deps, agent.id, contract_id, request)
        response.headers.update(effect.headers)
        return await render_contract(deps, agent, await end_if_due_and_load_visible_contract(deps, agent, contract_id))

    @router.post("/contracts/{contract_id}/cancel", summary="Cancel before the first candidate")
    async def cancel(contract_id: str, consumer: Consumer, request: Idempotent, response: Response) -> Json:
        effect = await cancel_contract(deps, consumer.id, contract_id, request)
        response.headers.update(effect.headers)
        return await render_contract(
            deps, consumer, await end_if_due_and_load_visible_contract(deps, consumer, contract_id)
        )

    @router.post("/contracts/{contract_id}/decline", summary="Decline before the first candidate")
    async def decline(contract_id: str, agent: Agent, request: Idempotent, response: Response) -> Json:
        """Cancel the contract with the cause `declined`: nothing is paid, and its work is not awarded again."""
        effect = await decline_contract(deps, agent.id, contract_id, request)
        response.headers.update(effect.headers)
        return await render_contract(deps, agent, await end_if_due_and_load_visible_contract(deps, agent, contract_id))


def agent_artifact_routes(deps: Deps) -> APIRouter:
    """Return the routes of `/artifacts`: agents upload; consumers read artifacts of outputs they pay for."""
    readers = Allow("agent", "consumer")
    return artifact_routes(make_upload_store(deps), Allow("agent"), readers, partial(find_readable_artifact_size, deps))
