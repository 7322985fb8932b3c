"""The type that outputs are validated into. The output is hostile: neither its shape nor its size is to be trusted."""

import inspect
from typing import Any, ParamSpec, TypeVar, get_args

from pydantic import TypeAdapter, ValidationError
from pydantic_core import SchemaValidator

from aex_models.canonical import NotCanonical, canonical_bytes
from aex_models.work import Problem
from aex_outcomes.lifecycle.depth import MAX_DEPTH, too_deep
from aex_outcomes.lifecycle.output_schema import finite, hasty
from aex_outcomes.lifecycle.signature import InvalidVerifier
from aex_outcomes.submission.findings import problems_of

NOT_JSON, TOO_DEEP, TOO_MANY = "not_canonical_json", "json_too_deep", "too_many_errors"
MAX_PROBLEMS = 50
_MAX_VALUES = 2_000
"""Of an output of which each error is told: what validation remembers of an error takes some 400 bytes."""
_MAX_ERRORS = 5_000
"""That are listed, to tell the first of them: pydantic lists all or none."""
_MAX_TEXT = 300
_OUTPUT = "/output"
_TAGS = "expected tags: "


class InvalidOutput(Exception):
    """An output that the output type does not take."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("; ".join(f"{each.path}: {each.message}" for each in problems))
        self.problems = problems


class OutputType:
    """Validates outputs, in time and memory that grow with the output and not with how much of it is wrong.

    Numbers are finite, whatever a model says. Of an output with thousands of values the errors of the first item that
    is not valid are told, of a smaller one those of every item.
    """

    def __init__(self, output_type: Any) -> None:
        """Raises `InvalidVerifier` for what pydantic cannot validate into."""
        adapter = _adapter(output_type)
        schema = finite(adapter.core_schema)
        # A validator that a model's class has already would be used as it is, with the model's own configuration.
        self._thorough = SchemaValidator(schema, _use_prebuilt=False)
        self._hasty = SchemaValidator(hasty(schema), _use_prebuilt=False)

    def validated(self, output: Any) -> Any:
        """As the JSON that it is, so that a strict model takes a date, and a verifier may do to it what it likes.

        Raises `InvalidOutput`; whatever a validator of the type's own raises comes out as it is, but for the
        `RecursionError` of one that follows the output down.
        """
        try:
            canonical = canonical_bytes(output)
        except NotCanonical as error:
            raise InvalidOutput((not_json(error, _OUTPUT),)) from error
        if canonical.count(b"[") + canonical.count(b"{") > MAX_DEPTH and (path := too_deep(output)) is not None:
            raise InvalidOutput((nested(path, _OUTPUT),))
        try:
            return self._read(canonical)
        except ValidationError as error:
            raise InvalidOutput(_problems(error, output)) from error
        except RecursionError as error:
            raise InvalidOutput((nested("", _OUTPUT),)) from error

    def _read(self, canonical: bytes) -> Any:
        if canonical.count(b",") <= _MAX_VALUES:
            try:
                return self._thorough.validate_json(canonical)
            except ValidationError as error:
                if error.error_count() <= _MAX_ERRORS:
                    raise
        return self._hasty.validate_json(canonical)


def not_json(error: NotCanonical, root: str = "") -> Problem:
    """What I-JSON cannot hold, as a problem of the candidate."""
    return _bounded(Problem(path=f"{root}{error.path}", code=NOT_JSON, message=error.problem))


def nested(path: str, root: str = "") -> Problem:
    """What nests too deep, as a problem of the candidate."""
    message = f"JSON is nested too deeply: an output has at most {MAX_DEPTH} levels"
    return _bounded(Problem(path=f"{root}{path}", code=TOO_DEEP, message=message))


def _problems(error: ValidationError, output: Any) -> tuple[Problem, ...]:
    if error.error_count() > _MAX_ERRORS:
        message = f"{error.error_count()} errors, more than can be listed: the output is of another shape altogether"
        return (Problem(path=_OUTPUT, code=TOO_MANY, message=message),)
    return tuple(map(_bounded, problems_of(error, output, _OUTPUT, MAX_PROBLEMS)))


def _adapter(output_type: Any) -> TypeAdapter[Any]:
    named = inspect.formatannotation(output_type)
    if _is_open(output_type):
        raise InvalidVerifier(f"output_type {named} has a type variable, which any output would fit: give the type")
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(output_type)
        complete = adapter.pydantic_complete or adapter.rebuild()
    except Exception as error:
        problem = (str(error).splitlines() or [type(error).__name__])[0]
        raise InvalidVerifier(f"output_type {named} is no type that pydantic can validate: {problem}") from error
    if not complete:
        raise InvalidVerifier(f"output_type {named} names a type that is not there: give the type itself")
    return adapter


def _is_open(output_type: Any) -> bool:
    """Whether it is, or is made of, a type that nobody has named: `T`, `list[T]`, `T | None`."""
    if isinstance(output_type, TypeVar | ParamSpec):
        return True
    return any(_is_open(each) for each in get_args(output_type))


def _bounded(problem: Problem) -> Problem:
    """pydantic tells a value that is in the output in one place alone: a tag that no member of a union has."""
    message = problem.message
    if problem.code == "union_tag_invalid":
        message = f"Input tag does not match any of the {_TAGS}{message.rpartition(_TAGS)[2]}"
    return Problem(path=_short(problem.path), code=_short(problem.code), message=_short(message))


def _short(text: str) -> str:
    return text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]}…"
