"""HTTP in: parse, call one handler, shape the reply."""

from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Response

from aex_models.audiences import project
from aex_models.contract import Award, AwardRequest
from aex_models.events import ContractAwarded
from aex_models.work import CheckedWork, Work, WorkAnswer, WorkStatus, WorkSubmission, WorkValidation
from aex_runtime.artifacts.routes import artifact_routes
from aex_runtime.http.auth import Allow, Principal
from aex_runtime.http.idempotency import Effect, IdempotentRequest, idempotent_request
from aex_runtime.http.pagination import PageRequest, page, page_request
from aex_runtime.http.problems import criteria_responses
from aex_runtime.http.raw_body import DescribedAs, body_size
from aex_runtime.http.routing import joined, service_router
from aex_runtime.tracing.calls import CONTRACT_TRACE
from aex_work_publisher.bodies import WorkPage
from aex_work_publisher.deps import Deps
from aex_work_publisher.handlers.award_work import award_work
from aex_work_publisher.handlers.cancel_work import cancel_work
from aex_work_publisher.handlers.check_work import Body as Submitted
from aex_work_publisher.handlers.check_work import validate_work
from aex_work_publisher.handlers.claim_work import claim_work
from aex_work_publisher.handlers.read_work import get_award, get_awarded_contract, get_work, list_works
from aex_work_publisher.handlers.submit_work import submit_work
from aex_work_publisher.handlers.uploaded_data import size_of_own, uploads_of

Consumer = Annotated[Principal, Depends(Allow("consumer"))]
Agent = Annotated[Principal, Depends(Allow("agent"))]
Reader = Annotated[Principal, Depends(Allow("consumer", "agent"))]
Service = Annotated[Principal, Depends(Allow("service"))]
Idempotent = Annotated[IdempotentRequest, Depends(idempotent_request)]
Paging = Annotated[PageRequest, Depends(page_request)]
Submission = Annotated[Any, DescribedAs(WorkSubmission), Body()]
Draft = Annotated[Any, DescribedAs(WorkSubmission, or_anything=True), Body()]
Size = Annotated[int, Depends(body_size)]
Json = dict[str, Any]


def routes(deps: Deps) -> APIRouter:
    """Every route of the service."""
    router = service_router(prefix="/v1")
    _work_routes(router, deps)
    _award_routes(router, deps)
    consumers = Allow("consumer")
    return joined(router, artifact_routes(uploads_of(deps), consumers, consumers, partial(size_of_own, deps)))


def _work_routes(router: APIRouter, deps: Deps) -> None:
    @router.post(
        "/work",
        status_code=201,
        summary="Publish a work",
        responses={201: {"model": WorkAnswer}, **criteria_responses()},
    )
    async def post_work(
        body: Submission, size: Size, consumer: Consumer, request: Idempotent, response: Response
    ) -> Json:
        """All that is wrong comes in one answer; what is odd, and what the work can cost, comes with it."""
        effect, answer = await submit_work(deps, consumer, Submitted(body, size), request)
        response.headers.update({**effect.headers, "Location": f"/v1/work/{effect.resource_id}"})
        return project(answer, consumer.role)

    @router.post(
        "/work/validate",
        summary="Check a work, store nothing",
        responses={200: {"model": WorkValidation}, **criteria_responses()},
    )
    async def post_validation(body: Draft, size: Size, consumer: Consumer) -> Json:
        """What `POST /v1/work` would say: problems, warnings, and the least and most that it can cost."""
        return project(await validate_work(deps, consumer, Submitted(body, size)), consumer.role)

    @router.get("/work", summary="The caller's works, newest first", responses={200: {"model": WorkPage}})
    async def get_works(reader: Reader, paging: Paging, status: WorkStatus | None = None) -> Json:
        """A consumer's own; an agent's, and all that are open. Evaluation data are shown one work at a time."""
        found = await list_works(deps, reader, status, paging)
        items = [project(each.work, reader.role) for each in found.records]
        return page([_without_secrets(item) for item in items], found.after, paging)

    @router.get("/work/{work_id}", summary="One work", responses={200: {"model": CheckedWork}})
    async def get_one_work(work_id: str, reader: Reader) -> Json:
        """For its consumer alone with its evaluation data, and with why it was refused, or what is odd about it."""
        return project(await get_work(deps, reader, work_id), reader.role)

    @router.post("/work/{work_id}/cancel", summary="Cancel before an award", responses={200: {"model": Work}})
    async def post_cancel(work_id: str, consumer: Consumer, request: Idempotent, response: Response) -> Json:
        effect = await cancel_work(deps, consumer, work_id, request)
        response.headers.update(effect.headers)
        return project(await get_work(deps, consumer, work_id), consumer.role)


def _award_routes(router: APIRouter, deps: Deps) -> None:
    @router.post("/work/{work_id}/award", status_code=201, summary="Award a work", responses={201: {"model": Award}})
    async def post_award(
        work_id: str, body: AwardRequest, consumer: Consumer, request: Idempotent, response: Response
    ) -> Json:
        """One award for each work: of two that race, one wins and the other is a 409."""
        effect = await award_work(deps, consumer, work_id, body, request)
        return await _award(deps, consumer, effect, response)

    @router.post("/work/{work_id}/claim", status_code=201, summary="Claim a work", responses={201: {"model": Award}})
    async def post_claim(work_id: str, agent: Agent, request: Idempotent, response: Response) -> Json:
        """An award at `budget.max_cpc`, where the work allows claims."""
        effect = await claim_work(deps, agent, work_id, request)
        return await _award(deps, agent, effect, response)

    @router.get("/awards/{contract_id}", summary="An award, for services", responses={200: {"model": ContractAwarded}})
    async def get_one_award(contract_id: str, service: Service, response: Response) -> Json:
        """What `contract.awarded` carries."""
        awarded, traceparent = await get_awarded_contract(deps, contract_id)
        if traceparent is not None:
            response.headers[CONTRACT_TRACE] = traceparent
        return project(awarded, service.role)


async def _award(deps: Deps, party: Principal, effect: Effect, response: Response) -> Json:
    # No Location: the award itself is for services alone; its parties follow the contract in verification.
    response.headers.update(effect.headers)
    return project(await get_award(deps, party, effect.resource_id), party.role)


def _without_secrets(item: Json) -> Json:
    """Works are kept without their secrets: in a list these fields would say that there are none, or not all."""
    return {name: value for name, value in item.items() if name not in {"evaluation", "science"}}
