"""An operator's verifiers, for the suites of the tests: each does what the candidate's text asks for."""

import os
from datetime import timedelta
from typing import Annotated, Any

from pydantic import BaseModel, Field

from aex_models.contract import Candidate
from aex_outcomes.lifecycle.context import AgentContext, ExecutionContext
from aex_outcomes.lifecycle.rejection import FatalAgentError, VerificationRejected

HOUR_S = 3_600
"""The deadline of works whose verifier crashes: by it the verifier knows how old a contract is."""
CRASHES_S = 3
"""Less than what three retries wait in all, and long enough for a first delivery."""
BAD, HOPELESS, NEVER = "bad", "hopeless", "never"


class Summary(BaseModel):
    """Output type of these verifiers."""

    text: Annotated[str, Field(min_length=1)]
    tags: list[str] = []


async def tone(output: Summary, agent_ctx: AgentContext, execution_ctx: ExecutionContext) -> dict[str, Any]:
    """Wants no bad words, and returns the text set in capitals."""
    if BAD in output.text:
        raise VerificationRejected(f"say it without <{BAD}>", code="tone", metadata={"words": len(output.text.split())})
    if HOPELESS in output.text:
        raise FatalAgentError("no text can help")
    return {
        "text": output.text.upper(),
        "attempt": agent_ctx.attempt,
        "asked": agent_ctx.query,
        "told": len(agent_ctx.messages),
        "contract_id": execution_ctx.contract_id,
        "in_time": execution_ctx.clock.now() < execution_ctx.deadline,
        "process": os.getpid(),
    }


def lenient(output: Summary) -> str:
    """The same, with no need of a service."""
    if BAD in output.text:
        raise VerificationRejected("no bad words")
    return output.text


def honest(output: Summary, candidate: Candidate) -> int:
    """Wants the number of words to be claimed as it is."""
    words = len(output.text.split())
    if candidate.claimed_metrics.get("words") != words:
        raise VerificationRejected("the claim is not what the text has", code="claim")
    return words


def fragile(output: Summary, execution_ctx: ExecutionContext) -> str:
    """Takes its worker down while a contract is young."""
    age = execution_ctx.clock.now() - (execution_ctx.deadline - timedelta(seconds=HOUR_S))
    if age < timedelta(seconds=CRASHES_S):
        os._exit(1)
    return output.text


def endless(output: Summary) -> str:
    """Never returns for some texts: it burns the processor, and awaits nothing."""
    while NEVER in output.text:
        pass
    return output.text


def unserved(output: Summary, database: Any) -> None:
    """Request a service that does not exist."""
    del output, database
