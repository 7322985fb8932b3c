"""Route that grades an output without a contract."""

from contextlib import ExitStack
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends

from aex_models.audiences import Disclosure, project
from aex_models.results import VerificationResult
from aex_outcomes.submission.verify_request import VerifyRequest
from aex_runtime.http.auth import Allow, Principal
from aex_runtime.http.body import DocumentedBody, request_body_size
from aex_runtime.http.idempotency import IdempotentRequest, idempotent_request
from aex_runtime.http.limits import ConcurrencyLimiter
from aex_runtime.http.problems import openapi_criteria_responses
from aex_runtime.http.routing import service_router
from aex_verification.deps import Deps
from aex_verification.handlers.verify_without_contract import grade_without_contract

Consumer = Annotated[Principal, Depends(Allow("consumer"))]
Idempotent = Annotated[IdempotentRequest, Depends(idempotent_request)]
RequestBody = Annotated[Any, DocumentedBody(VerifyRequest), Body()]
Size = Annotated[int, Depends(request_body_size)]

MAX_PER_CONSUMER, MAX_TOTAL = 16, 200
"""Limits of concurrent requests in one process: per consumer and in total."""
MAX_SCIENCE_PER_CONSUMER, MAX_SCIENCE = 2, 6
"""Lower limits of requests with science, whose raw data are written to files and may need a reviewer."""


def verify_routes(deps: Deps) -> APIRouter:
    """Return a router with the route `/verify`."""
    router = service_router("/v1", tags=["verify"])
    limiter = ConcurrencyLimiter(MAX_PER_CONSUMER, MAX_TOTAL, "verifications", "verifier_busy")
    science_limiter = ConcurrencyLimiter(MAX_SCIENCE_PER_CONSUMER, MAX_SCIENCE, "verifications", "verifier_busy")

    @router.post(
        "/verify",
        summary="Try criteria on an output, store nothing",
        responses={200: {"model": VerificationResult}, **openapi_criteria_responses()},
    )
    async def post_verify(body: RequestBody, size: Size, consumer: Consumer, _: Idempotent) -> dict[str, Any]:
        """Return the verdict that a candidate with this output would get from the engine, at no cost.

        Governance is not called (`governance.action` is `skipped`), so bonuses follow success alone. `contract_id` is
        `none`, and `candidate_hash` that of an attempt with this candidate. With `science`, claims are compared with
        the consumer's own raw data, inline in `data`, and with artifacts; a reviewer reads them where `checks` say so.
        An `Idempotency-Key` is accepted without effect.
        """
        with ExitStack() as slots:
            slots.enter_context(limiter.acquire(consumer.id))
            if isinstance(body, dict) and body.get("science") is not None:
                slots.enter_context(science_limiter.acquire(consumer.id))
            result = await grade_without_contract(deps, consumer, body, size)
        return project(result, consumer.role, Disclosure(output=True))  # the consumer's own output

    return router
