from collections.abc import Callable, Sequence
from typing import Any

from pydantic import BaseModel

from aex_outcomes import AgentContext, FatalAgentError, RevisionLoop, VerificationRejected
from aex_outcomes.lifecycle.context import Exhausted, Failed, LoopOutcome, Passed


class Draft(BaseModel):
    """An output: what it says of itself is what the verifier makes of it."""

    text: str
    verdict: str = "rejected"


class Script:
    """A producer that gives the n-th output in the n-th turn, and the last one from then on."""

    def __init__(self, *outputs: Any) -> None:
        self.outputs = outputs
        self.seen: list[AgentContext] = []

    def __call__(self, ctx: AgentContext) -> Any:
        self.seen.append(ctx)
        output = self.outputs[min(ctx.turn, len(self.outputs)) - 1]
        if isinstance(output, BaseException):
            raise output
        return output


class Word:
    def __init__(self) -> None:
        self.judged: list[str] = []
        self.ruled: set[tuple[str, str]] = set()
        """The different drafts that it gave a verdict on."""
        self.crashes: dict[str, int] = {}

    async def __call__(self, draft: Draft, agent_ctx: AgentContext) -> str:
        self.judged.append(draft.text)
        verdict, _, times = draft.verdict.partition(" ")
        if verdict == "crashes":
            self.crashes[draft.text] = self.crashes.get(draft.text, 0) + 1
            if self.crashes[draft.text] <= int(times):
                raise ConnectionError(f"crash {self.crashes[draft.text]}")
        self.ruled.add((draft.text, draft.verdict))
        if verdict == "fatal":
            raise FatalAgentError(f"{draft.text} is beyond hope")
        if verdict == "rejected":
            raise VerificationRejected(f"{draft.text} is not it", "wording", {"attempt": agent_ctx.attempt})
        return draft.text.upper()


class Waits:
    """Waits that take no time, remembered."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


def rejected(text: str) -> dict[str, str]:
    return {"text": text}


def passed(text: str) -> dict[str, str]:
    return {"text": text, "verdict": "passed"}


def fatal(text: str) -> dict[str, str]:
    return {"text": text, "verdict": "fatal"}


def crashes(text: str, times: int) -> dict[str, str]:
    return {"text": text, "verdict": f"crashes {times}"}


def loop_of(
    produce: Callable[[AgentContext], Any], verifier: Callable[..., Any] | None = None, **more: Any
) -> RevisionLoop:
    given: dict[str, Any] = {"output_type": Draft, "verifier": verifier or Word(), "sleep": Waits()} | more
    return RevisionLoop(produce, **given)


def outcome_parts(end: LoopOutcome) -> tuple[Any, ...]:
    """An end, as far as it can be compared: exceptions by their words."""
    if isinstance(end, Passed):
        return ("passed", end.result)
    if isinstance(end, Failed):
        return ("failed", type(end.error), str(end.error))
    assert isinstance(end, Exhausted)
    last = end.last_rejection
    return ("exhausted", end.reason.value, last and (last.message, last.code, last.metadata))


def context(end: LoopOutcome) -> AgentContext:
    assert end.context is not None
    return end.context


def contents(messages: Sequence[dict[str, Any]]) -> list[tuple[str, str]]:
    """Role and first line of each message."""
    return [(each["role"], str(each["content"]).splitlines()[0]) for each in messages]
