"""Custom verifier, checked before its first candidate, with validated outputs and injected contexts."""

import inspect
from asyncio import Future
from collections.abc import Callable
from typing import Any

from aex_models.contract import Candidate
from aex_models.results import VerificationResult
from aex_outcomes.lifecycle.context import AgentContext, ExecutionContext
from aex_outcomes.lifecycle.output_type import InvalidOutput, OutputType
from aex_outcomes.lifecycle.rejection import (
    REJECTED,
    FatalAgentError,
    VerificationRejected,
    find_verdict_in_group,
    to_text_keyed_mapping,
    to_text_or_type_name,
)
from aex_outcomes.lifecycle.ruling import Accepted, Invalid, Rejected, Rejection, Ruling, truncate_rejection
from aex_outcomes.lifecycle.signature import (
    EMPTY,
    InvalidVerifier,
    Supply,
    UnresolvedAnnotation,
    annotation_excludes,
    plan_injection,
)

FATAL = "fatal"
"""Code of the rejection of a fatal error."""


class CheckedVerifier:
    """Verifier function, sync or async, with its output type.

    The function's first positional parameter gets the validated output. Others get `AgentContext`, `ExecutionContext`
    and `Candidate`, by annotation or by the names `agent_ctx`, `execution_ctx`, `candidate`. It returns the final
    result, or raises `VerificationRejected` or `FatalAgentError`.
    """

    def __init__(self, verify: Callable[..., Any], output_type: Any = None) -> None:
        """Check the function's signature and type. Raises `InvalidVerifier`, which names parameter and fix."""
        if output_type is None:
            raise InvalidVerifier(
                "output_type is missing: give the type that the output has (a pydantic model, Any, …)"
            )
        self.output_type = output_type
        self._verify = verify
        self._injection = plan_injection(verify)
        if annotation_excludes(self._injection.output_annotation, output_type):
            raise InvalidVerifier(
                f"The verifier's parameter {self._injection.output!r} is annotated "
                f"{inspect.formatannotation(self._injection.output_annotation)}, but output_type is "
                f"{inspect.formatannotation(output_type)}: let both say the same"
            )
        self._output = OutputType(output_type)

    @classmethod
    def from_annotated_function(cls, verify: Callable[..., Any]) -> "CheckedVerifier":
        """Check a function whose first parameter's annotation is the output type. Raises `InvalidVerifier`."""
        plan = plan_injection(verify)
        if plan.output_annotation is EMPTY or plan.output_annotation is type(None):
            raise InvalidVerifier(
                f"The verifier's parameter {plan.output!r} has no annotation to take the output type from: "
                "annotate it, or declare output_type"
            )
        if isinstance(plan.output_annotation, UnresolvedAnnotation):
            raise InvalidVerifier(
                f"The annotation {plan.output_annotation.text!r} of the verifier's parameter {plan.output!r} cannot "
                f"be resolved ({plan.output_annotation.problem}): import what it names, or declare output_type"
            )
        return cls(verify, plan.output_annotation)

    async def decide_ruling(
        self, candidate: Candidate, agent_ctx: AgentContext, execution_ctx: ExecutionContext | None
    ) -> Ruling:
        """Run the verifier and return its ruling; an exception that is no verdict is raised."""
        try:
            return Accepted(final_result=await self.verify(candidate, agent_ctx, execution_ctx))
        except (InvalidOutput, VerificationRejected, FatalAgentError) as verdict:
            return ruling_from_exception(verdict)

    async def verify(
        self, candidate: Candidate, agent_ctx: AgentContext, execution_ctx: ExecutionContext | None
    ) -> Any:
        """Validate the output, run the verifier, and return its result.

        Raises `InvalidOutput` for an output of a wrong type, and the verifier's exceptions; a verdict in an exception
        group is raised itself. Raises `TypeError` for a result that is a mistake: an awaitable, a generator, an
        exception.
        """
        output = self._output.validate(candidate.output)
        supplies = {Supply.AGENT_CTX: agent_ctx, Supply.EXECUTION_CTX: execution_ctx, Supply.CANDIDATE: candidate}
        try:
            found = self._injection.call(self._verify, output, supplies)
            found = await found if inspect.isawaitable(found) else found
        except ExceptionGroup as group:
            verdict = find_verdict_in_group(group)
            if verdict is None:
                raise
            raise verdict from group
        _check_result(found)
        return found


def ruling_from_exception(verdict: InvalidOutput | VerificationRejected | FatalAgentError) -> Rejected | Invalid:
    """Convert the exception of a verifier or of an invalid output to a ruling, whatever its attributes."""
    if isinstance(verdict, InvalidOutput):
        return Invalid(errors=verdict.problems)
    if isinstance(verdict, FatalAgentError):
        return Rejected(rejection=rejection_from_fatal_error(verdict), fatal=True)
    message, code, result = (_attribute(verdict, name) for name in ("message", "code", "result"))
    message = to_text_or_type_name(verdict if message is None else message)
    code = REJECTED if code is None else to_text_or_type_name(code) or REJECTED
    rejection = Rejection(message=message, code=code, metadata=_metadata(verdict))
    return Rejected(rejection=rejection, result=result if isinstance(result, VerificationResult) else None)


def rejection_from_fatal_error(error: FatalAgentError) -> Rejection:
    """Return a fatal error as a rejection with the code `fatal`, and with its text cut for storage."""
    return truncate_rejection(Rejection(message=to_text_or_type_name(error), code=FATAL))


def _attribute(verdict: VerificationRejected, name: str) -> Any:
    """Return an attribute; None if it is missing or raises an error.

    It is missing in an instance of a subclass that does not call `super().__init__`.
    """
    try:
        return getattr(verdict, name, None)
    except Exception:  # noqa: BLE001 a property of the verifier's own
        return None


def _metadata(verdict: VerificationRejected) -> dict[str, Any]:
    try:
        return to_text_keyed_mapping(_attribute(verdict, "metadata"))
    except Exception:  # noqa: BLE001 a mapping of the verifier's own
        return {}


def _check_result(found: Any) -> None:
    if inspect.iscoroutine(found):
        found.close()  # else Python warns when it is collected
        raise TypeError("The verifier returned a coroutine that was not awaited: return await …")
    if inspect.isawaitable(found):
        if isinstance(found, Future):
            found.cancel()
        raise TypeError(f"The verifier returned a {type(found).__name__} that was not awaited: return await …")
    if inspect.isgenerator(found) or inspect.isasyncgen(found):
        raise TypeError("The verifier returned a generator, which has not run: return its values, or a list of them")
    if isinstance(found, BaseException) or (isinstance(found, type) and issubclass(found, BaseException)):
        name = (found if isinstance(found, type) else type(found)).__name__
        raise TypeError(f"The verifier returned the exception {name}, which would pass: raise it instead")
