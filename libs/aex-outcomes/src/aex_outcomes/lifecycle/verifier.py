"""A user's verifier, checked before its first candidate: the output validated, the rest injected, the end named."""

import inspect
from asyncio import Future
from collections.abc import Callable
from typing import Any

from aex_models.contract import Candidate
from aex_models.results import VerificationResult
from aex_outcomes.lifecycle.annotations import EMPTY, Unresolved, contradicts
from aex_outcomes.lifecycle.context import AgentContext, ExecutionContext
from aex_outcomes.lifecycle.output_type import InvalidOutput, OutputType
from aex_outcomes.lifecycle.rejection import (
    REJECTED,
    FatalAgentError,
    VerificationRejected,
    as_mapping,
    as_text,
    verdict_in,
)
from aex_outcomes.lifecycle.ruling import Accepted, Invalid, Rejected, Rejection, Ruling
from aex_outcomes.lifecycle.ruling_json import bounded
from aex_outcomes.lifecycle.signature import InvalidVerifier, Supply, injection_of

FATAL = "fatal"
"""The code of a fatal error."""


class CheckedVerifier:
    """A callable, sync or async, with the type of the output that it takes.

    Its first positional parameter is given the output, validated; others may ask for `AgentContext`,
    `ExecutionContext` and `Candidate`, by annotation or by the names `agent_ctx`, `execution_ctx`, `candidate`.
    What it returns is the final result; `VerificationRejected` and `FatalAgentError` are its other verdicts.
    """

    def __init__(self, verify: Callable[..., Any], output_type: Any = None) -> None:
        """Raises `InvalidVerifier`, naming the parameter and the fix."""
        if output_type is None:
            raise InvalidVerifier(
                "output_type is missing: give the type that the output has (a pydantic model, Any, …)"
            )
        self.output_type = output_type
        self._verify = verify
        self._injection = injection_of(verify)
        if contradicts(self._injection.output_annotation, output_type):
            raise InvalidVerifier(
                f"The verifier's parameter {self._injection.output!r} is annotated "
                f"{inspect.formatannotation(self._injection.output_annotation)}, but output_type is "
                f"{inspect.formatannotation(output_type)}: let both say the same"
            )
        self._output = OutputType(output_type)

    @classmethod
    def annotated(cls, verify: Callable[..., Any]) -> "CheckedVerifier":
        """With the output type that its first parameter's annotation names. Raises `InvalidVerifier`."""
        plan = injection_of(verify)
        if plan.output_annotation is EMPTY or plan.output_annotation is type(None):
            raise InvalidVerifier(
                f"The verifier's parameter {plan.output!r} has no annotation to take the output type from: "
                "annotate it, or declare output_type"
            )
        if isinstance(plan.output_annotation, Unresolved):
            raise InvalidVerifier(
                f"The annotation {plan.output_annotation.text!r} of the verifier's parameter {plan.output!r} cannot "
                f"be resolved ({plan.output_annotation.problem}): import what it names, or declare output_type"
            )
        return cls(verify, plan.output_annotation)

    async def rule(
        self, candidate: Candidate, agent_ctx: AgentContext, execution_ctx: ExecutionContext | None
    ) -> Ruling:
        """The verifier's word on a candidate. Whatever else it raises comes out as it is: a system error."""
        try:
            return Accepted(final_result=await self.verify(candidate, agent_ctx, execution_ctx))
        except (InvalidOutput, VerificationRejected, FatalAgentError) as verdict:
            return ruling_of(verdict)

    async def verify(
        self, candidate: Candidate, agent_ctx: AgentContext, execution_ctx: ExecutionContext | None
    ) -> Any:
        """The final result of a candidate that passes. Raises `InvalidOutput` and whatever the verifier raises.

        Verdicts that a task group has wrapped come out of it. Raises `TypeError` for what would pass everything by
        mistake: a coroutine that nobody awaits, a generator, an exception that is returned.
        """
        output = self._output.validated(candidate.output)
        supplies = {Supply.AGENT_CTX: agent_ctx, Supply.EXECUTION_CTX: execution_ctx, Supply.CANDIDATE: candidate}
        try:
            found = self._injection.call(self._verify, output, supplies)
            found = await found if inspect.isawaitable(found) else found
        except ExceptionGroup as group:
            verdict = verdict_in(group)
            if verdict is None:
                raise
            raise verdict from group
        _refuse_no_result(found)
        return found


def ruling_of(verdict: InvalidOutput | VerificationRejected | FatalAgentError) -> Rejected | Invalid:
    """What a verifier raised, as a ruling. A rejection stands, however its class or its texts are made."""
    if isinstance(verdict, InvalidOutput):
        return Invalid(errors=verdict.problems)
    if isinstance(verdict, FatalAgentError):
        return Rejected(rejection=fatal_rejection(verdict), fatal=True)
    message, code, result = (_attribute(verdict, name) for name in ("message", "code", "result"))
    return Rejected(
        rejection=Rejection(
            message=as_text(verdict if message is None else message),
            code=REJECTED if code is None else as_text(code) or REJECTED,
            metadata=_metadata(verdict),
        ),
        result=result if isinstance(result, VerificationResult) else None,
    )


def fatal_rejection(error: FatalAgentError) -> Rejection:
    """A fatal error, bounded and fit to be saved."""
    return bounded(Rejection(message=as_text(error), code=FATAL))


def _attribute(verdict: VerificationRejected, name: str) -> Any:
    """None where a class of the verifier's own has none: it need not have called ours."""
    try:
        return getattr(verdict, name, None)
    except Exception:  # noqa: BLE001 a property of the verifier's own
        return None


def _metadata(verdict: VerificationRejected) -> dict[str, Any]:
    try:
        return as_mapping(_attribute(verdict, "metadata"))
    except Exception:  # noqa: BLE001 a mapping of the verifier's own
        return {}


def _refuse_no_result(found: Any) -> None:
    if inspect.iscoroutine(found):
        found.close()  # else Python would warn of it wherever it is collected
        raise TypeError("The verifier returned a coroutine that nobody awaited: return await …")
    if inspect.isawaitable(found):
        if isinstance(found, Future):
            found.cancel()
        raise TypeError(f"The verifier returned a {type(found).__name__} that nobody awaited: return await …")
    if inspect.isgenerator(found) or inspect.isasyncgen(found):
        raise TypeError("The verifier returned a generator, which has not run: return its values, or a list of them")
    if isinstance(found, BaseException) or (isinstance(found, type) and issubclass(found, BaseException)):
        name = (found if isinstance(found, type) else type(found)).__name__
        raise TypeError(f"The verifier returned the exception {name}, which would pass: raise it instead")
