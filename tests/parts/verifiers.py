"""Named verifiers as an operator would write them, and a pool that runs them in this process."""

from collections.abc import Callable
from typing import Any

from pydantic import BaseModel

from aex_models.clock import Clock
from aex_outcomes.lifecycle.context import AgentContext, ExecutionContext
from aex_outcomes.lifecycle.rejection import FatalAgentError, VerificationRejected
from aex_outcomes.lifecycle.ruling import Ruling
from aex_outcomes.lifecycle.verifier import CheckedVerifier
from aex_verification.ports import VerifierLost, VerifierRequest


class Summary(BaseModel):
    text: str


async def verify_summary(output: Summary, agent_ctx: AgentContext, execution_ctx: ExecutionContext) -> dict[str, Any]:
    """Reject a dull summary, reject a hopeless one fatally, and return a title for any other."""
    if "dull" in output.text:
        raise VerificationRejected(
            f"Attempt {agent_ctx.attempt} is dull: {output.text}", "too_dull", {"attempt": agent_ctx.attempt}
        )
    if "hopeless" in output.text:
        raise FatalAgentError(f"{execution_ctx.agent_id} will never get there")
    if "crash" in output.text:
        raise ZeroDivisionError(f"canary: {output.text}")
    return {"title": output.text.title(), "attempt_id": execution_ctx.attempt_id}


def verify_nothing(output: Summary) -> None:
    """Accept any summary, and return None."""


class Titled(Summary):
    title: str


def verify_titled(output: Titled) -> str:
    return output.title


VERIFIERS: dict[str, Callable[..., Any]] = {
    "summary": verify_summary,
    "nothing": verify_nothing,
    "strict": verify_titled,
}


class FailingPart:
    """A part that fails the next `failures` times, or whenever `breaks` returns True."""

    def __init__(self) -> None:
        self.failures = 0
        self.breaks: Callable[[], bool] = self._next_failure

    def _next_failure(self) -> bool:
        self.failures -= 1
        return self.failures >= 0


class InProcessVerifiers(FailingPart):
    """A pool of verifiers that runs the real ones in this process."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self.requests: list[VerifierRequest] = []
        self.by_name = {name: CheckedVerifier.from_annotated_function(verify) for name, verify in VERIFIERS.items()}
        self._clock = clock

    async def rule(self, request: VerifierRequest) -> Ruling:
        self.requests.append(request)
        if request.name not in self.by_name:
            raise VerifierLost("UnknownVerifier")
        if self.breaks():
            raise VerifierLost("JobTimeout")
        context = ExecutionContext(
            contract_id=request.contract_id,
            work_id=request.work_id,
            agent_id=request.agent_id,
            attempt_id=request.attempt_id,
            deadline=request.deadline,
            clock=self._clock,
        )
        try:
            return await self.by_name[request.name].decide_ruling(request.candidate, request.agent, context)
        except Exception as error:  # noqa: BLE001 a verifier may raise anything
            raise VerifierLost(type(error).__name__) from None
