"""Verdicts without a contract."""

from contextlib import ExitStack
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends

from aex_models.audiences import Disclosure, project
from aex_models.results import VerificationResult
from aex_outcomes.submission.verify_request import VerifyRequest
from aex_runtime.http.auth import Allow, Principal
from aex_runtime.http.idempotency import IdempotentRequest, idempotent_request
from aex_runtime.http.problems import criteria_responses
from aex_runtime.http.raw_body import DescribedAs, body_size
from aex_runtime.http.routing import service_router
from aex_verification.deps import Deps
from aex_verification.handlers.try_candidate import try_candidate
from aex_verification.turnstile import Turnstile

Consumer = Annotated[Principal, Depends(Allow("consumer"))]
Idempotent = Annotated[IdempotentRequest, Depends(idempotent_request)]
Given = Annotated[Any, DescribedAs(VerifyRequest), Body()]
Size = Annotated[int, Depends(body_size)]
Json = dict[str, Any]

MAX_OF_ONE, MAX_OF_ALL = 16, 200
"""Verifications at once, of one consumer and of all, in this process: contracts' candidates wait in the same queue."""
SCIENCE_OF_ONE, SCIENCE_OF_ALL = 2, 6
"""Those of them with science, whose raw data are written out to be read, and which may ask a reviewer."""


def verify_routes(deps: Deps) -> APIRouter:
    """`/verify`."""
    router = service_router("/v1", tags=["verify"])
    turnstile, examinations = Turnstile(MAX_OF_ONE, MAX_OF_ALL), Turnstile(SCIENCE_OF_ONE, SCIENCE_OF_ALL)

    @router.post(
        "/verify",
        summary="Try criteria on an output, store nothing",
        responses={200: {"model": VerificationResult}, **criteria_responses()},
    )
    async def post_verify(body: Given, size: Size, consumer: Consumer, _: Idempotent) -> Json:
        """The verdict that a candidate with this output would get from the engine, at no cost.

        Governance is not asked (`governance.action` is `skipped`), so bonuses follow success alone; `contract_id` is
        `none`, and `candidate_hash` that of an attempt with this candidate. With `science`, its claims are held
        against the consumer's own raw data, inline in `data`, and its artifacts, and a reviewer is asked where
        `checks` say so. An `Idempotency-Key` is taken and changes nothing: there is no effect that a repeat could
        double.
        """
        with ExitStack() as places:
            places.enter_context(turnstile.passed(consumer.id))
            if isinstance(body, dict) and body.get("science") is not None:
                places.enter_context(examinations.passed(consumer.id))
            result = await try_candidate(deps, consumer, body, size)
        return project(result, consumer.role, Disclosure(output=True))  # it is the consumer's own

    return router
