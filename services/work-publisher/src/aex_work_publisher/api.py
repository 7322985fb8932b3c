"""HTTP routes of the service. Each parses the request, calls one handler, and removes hidden fields."""

from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Response
from pydantic import BaseModel

from aex_models.audiences import project
from aex_models.contract import Award, AwardRequest
from aex_models.events import ContractAwarded
from aex_models.work import CheckedWork, Work, WorkAnswer, WorkStatus, WorkSubmission, WorkValidation
from aex_runtime.artifacts import artifact_routes
from aex_runtime.http.auth import Allow, Principal
from aex_runtime.http.body import DocumentedBody, request_body_size
from aex_runtime.http.idempotency import Effect, IdempotentRequest, idempotent_request
from aex_runtime.http.listing import encoded_json_response
from aex_runtime.http.pagination import PageRequest, page_request
from aex_runtime.http.problems import openapi_criteria_responses
from aex_runtime.http.routing import join_routers, service_router
from aex_runtime.tracing.spans import CONTRACT_TRACE
from aex_work_publisher.deps import Deps
from aex_work_publisher.handlers.award_work import award_work, cancel_work, claim_work
from aex_work_publisher.handlers.read_work import get_award, get_award_event_and_trace, get_work, list_works
from aex_work_publisher.handlers.submit_work import Body as Submitted
from aex_work_publisher.handlers.submit_work import find_own_upload_size, make_upload_store, submit_work, validate_work


class WorkPage(BaseModel):
    """Page of works without evaluation data and science."""

    items: list[Work]
    next_cursor: str | None


Consumer = Annotated[Principal, Depends(Allow("consumer"))]
Agent = Annotated[Principal, Depends(Allow("agent"))]
Reader = Annotated[Principal, Depends(Allow("consumer", "agent"))]
Service = Annotated[Principal, Depends(Allow("service"))]
Idempotent = Annotated[IdempotentRequest, Depends(idempotent_request)]
Paging = Annotated[PageRequest, Depends(page_request)]
Submission = Annotated[Any, DocumentedBody(WorkSubmission), Body()]
Draft = Annotated[Any, DocumentedBody(WorkSubmission, accepts_anything=True), Body()]
Size = Annotated[int, Depends(request_body_size)]
Json = dict[str, Any]


def routes(deps: Deps) -> APIRouter:
    """Return a router with every route of the service."""
    router = service_router(prefix="/v1")
    _work_routes(router, deps)
    _award_routes(router, deps)
    consumers = Allow("consumer")
    return join_routers(
        router, artifact_routes(make_upload_store(deps), consumers, consumers, partial(find_own_upload_size, deps))
    )


def _work_routes(router: APIRouter, deps: Deps) -> None:
    @router.post(
        "/work",
        status_code=201,
        summary="Publish a work",
        responses={201: {"model": WorkAnswer}, **openapi_criteria_responses()},
    )
    async def post_work(
        body: Submission, size: Size, consumer: Consumer, request: Idempotent, response: Response
    ) -> Json:
        """Publish a work. The answer holds warnings and quote; a refusal lists all problems."""
        effect, answer = await submit_work(deps, consumer, Submitted(body, size), request)
        response.headers.update({**effect.headers, "Location": f"/v1/work/{effect.resource_id}"})
        return project(answer, consumer.role)

    @router.post(
        "/work/validate",
        summary="Check a work, store nothing",
        responses={200: {"model": WorkValidation}, **openapi_criteria_responses()},
    )
    async def post_validation(body: Draft, size: Size, consumer: Consumer) -> Json:
        """Return problems, warnings and quote as `POST /v1/work` would, and store nothing."""
        return project(await validate_work(deps, consumer, Submitted(body, size)), consumer.role)

    @router.get("/work", summary="The caller's works, newest first", responses={200: {"model": WorkPage}})
    async def get_works(reader: Reader, paging: Paging, status: WorkStatus | None = None) -> Response:
        """Return a consumer's own works, or an agent's and the open ones, without evaluation data.

        A page ends at `limit` items, and at 1 MB of stored records, with at least one.
        """
        return encoded_json_response(await list_works(deps, reader, status, paging))

    @router.get("/work/{work_id}", summary="One work", responses={200: {"model": CheckedWork}})
    async def get_one_work(work_id: str, reader: Reader) -> Json:
        """Return the work. Its consumer also reads evaluation data, problems and warnings."""
        return project(await get_work(deps, reader, work_id), reader.role)


def _award_routes(router: APIRouter, deps: Deps) -> None:
    @router.post("/work/{work_id}/cancel", summary="Cancel before an award", responses={200: {"model": Work}})
    async def post_cancel(work_id: str, consumer: Consumer, request: Idempotent, response: Response) -> Json:
        effect = await cancel_work(deps, consumer, work_id, request)
        response.headers.update(effect.headers)
        return project(await get_work(deps, consumer, work_id), consumer.role)

    @router.post("/work/{work_id}/award", status_code=201, summary="Award a work", responses={201: {"model": Award}})
    async def post_award(
        work_id: str, body: AwardRequest, consumer: Consumer, request: Idempotent, response: Response
    ) -> Json:
        """Award a work once. Of two concurrent awards one wins, and the other is a 409."""
        effect = await award_work(deps, consumer, work_id, body, request)
        return await _award(deps, consumer, effect, response)

    @router.post("/work/{work_id}/claim", status_code=201, summary="Claim a work", responses={201: {"model": Award}})
    async def post_claim(work_id: str, agent: Agent, request: Idempotent, response: Response) -> Json:
        """Return an award at `budget.max_cpc`, where the work allows claims."""
        effect = await claim_work(deps, agent, work_id, request)
        return await _award(deps, agent, effect, response)

    @router.get("/awards/{contract_id}", summary="An award, for services", responses={200: {"model": ContractAwarded}})
    async def get_one_award(contract_id: str, service: Service, response: Response) -> Json:
        """Return the data of `contract.awarded`."""
        awarded, traceparent = await get_award_event_and_trace(deps, contract_id)
        if traceparent is not None:
            response.headers[CONTRACT_TRACE] = traceparent
        return project(awarded, service.role)


async def _award(deps: Deps, party: Principal, effect: Effect, response: Response) -> Json:
    # No Location: only services read the award; its parties follow the contract in verification.
    response.headers.update(effect.headers)
    return project(await get_award(deps, party, effect.resource_id), party.role)
