"""A user's verifier, checked before its first candidate: the output validated, the rest injected, the end named."""

import inspect
from collections.abc import Callable
from typing import Any

from pydantic import TypeAdapter, ValidationError

from aex_models.canonical import NotCanonical, canonical_bytes
from aex_models.contract import Candidate
from aex_models.results import VerificationResult
from aex_models.work import Problem
from aex_outcomes.lifecycle.annotations import EMPTY, Unresolved, contradicts
from aex_outcomes.lifecycle.context import AgentContext, ExecutionContext
from aex_outcomes.lifecycle.rejection import REJECTED, FatalAgentError, VerificationRejected
from aex_outcomes.lifecycle.ruling import Accepted, Invalid, Rejected, Rejection, Ruling
from aex_outcomes.lifecycle.signature import InvalidVerifier, Supply, injection_of
from aex_outcomes.submission.findings import problems_of

__all__ = ["CheckedVerifier", "InvalidOutput", "InvalidVerifier", "not_json", "ruling_of"]

FATAL = "fatal"
"""The code of a fatal error."""
NOT_JSON = "not_canonical_json"
MAX_PROBLEMS = 50
_MAX_TEXT = 300
_OUTPUT = "/output"
_TAGS = "expected tags: "


class InvalidOutput(Exception):
    """An output that the output type does not take."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("; ".join(f"{each.path}: {each.message}" for each in problems))
        self.problems = problems


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
        self._output: TypeAdapter[Any] = _adapter(output_type)

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
        """The final result of a candidate that passes. Raises `InvalidOutput` and whatever the verifier raises."""
        found = self._injection.call(
            self._verify,
            self._validated(candidate.output),
            {Supply.AGENT_CTX: agent_ctx, Supply.EXECUTION_CTX: execution_ctx, Supply.CANDIDATE: candidate},
        )
        return await found if inspect.isawaitable(found) else found

    def _validated(self, output: Any) -> Any:
        """As the JSON that it is, so that a strict model takes a date, and a verifier may do to it what it likes."""
        try:
            return self._output.validate_json(canonical_bytes(output))
        except NotCanonical as error:
            raise InvalidOutput((not_json(error, _OUTPUT),)) from error
        except ValidationError as error:
            raise InvalidOutput(tuple(map(_bounded, problems_of(error, output, _OUTPUT, MAX_PROBLEMS)))) from error


def ruling_of(verdict: InvalidOutput | VerificationRejected | FatalAgentError) -> Rejected | Invalid:
    """What a verifier raised, as a ruling."""
    if isinstance(verdict, InvalidOutput):
        return Invalid(errors=verdict.problems)
    if isinstance(verdict, FatalAgentError):
        return Rejected(rejection=Rejection(message=str(verdict), code=FATAL), fatal=True)
    result = getattr(verdict, "result", None)
    return Rejected(
        rejection=Rejection(
            message=str(verdict.message), code=str(verdict.code or REJECTED), metadata=dict(verdict.metadata)
        ),
        result=result if isinstance(result, VerificationResult) else None,
    )


def not_json(error: NotCanonical, root: str = "") -> Problem:
    """What I-JSON cannot hold, as a problem of the candidate."""
    return _bounded(Problem(path=f"{root}{error.path}", code=NOT_JSON, message=error.problem))


def _adapter(output_type: Any) -> TypeAdapter[Any]:
    named = inspect.formatannotation(output_type)
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(output_type)
        complete = adapter.pydantic_complete or adapter.rebuild()
    except Exception as error:
        problem = (str(error).splitlines() or [type(error).__name__])[0]
        raise InvalidVerifier(f"output_type {named} is no type that pydantic can validate: {problem}") from error
    if not complete:
        raise InvalidVerifier(f"output_type {named} names a type that is not there: give the type itself")
    return adapter


def _bounded(problem: Problem) -> Problem:
    """pydantic tells a value that is in the output in one place alone: a tag that no member of a union has."""
    message = problem.message
    if problem.code == "union_tag_invalid":
        message = f"Input tag does not match any of the {_TAGS}{message.rpartition(_TAGS)[2]}"
    return Problem(path=_short(problem.path), code=_short(problem.code), message=_short(message))


def _short(text: str) -> str:
    return text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]}…"
