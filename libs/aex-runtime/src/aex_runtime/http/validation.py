"""Validation errors of pydantic as problems: JSON pointers into the body, and never a value that was sent."""

from collections.abc import Mapping, Sequence
from typing import Any

from fastapi.exceptions import RequestValidationError

from aex_models.validation_words import place_of, words_of
from aex_models.work import Problem
from aex_runtime.errors import DomainError, InvalidRequest, Unprocessable
from aex_runtime.http.json_problems import MAX_PROBLEMS, pointer

CRITERIA_FIELD = "success_criteria"
_QUOTING = {
    "value_error",
    "assertion_error",
    "union_tag_invalid",
    "json_invalid",
    "url_parsing",
    "url_syntax_violation",
}
"""Kinds whose message may quote what was sent."""


def validation_problem(error: RequestValidationError) -> DomainError:
    """`InvalidRequest` (400) where anything inside `success_criteria` is wrong, else `Unprocessable` (422)."""
    problems = problems_of(error.errors(), error.body)
    in_criteria = any(CRITERIA_FIELD in problem.path.split("/") for problem in problems)
    if in_criteria:
        return InvalidRequest("invalid_success_criteria", "the success criteria are not valid", problems)
    return Unprocessable("invalid_shape", "the request does not have the expected shape", problems)


def problems_of(found: Sequence[Mapping[str, Any]], body: Any) -> tuple[Problem, ...]:
    """Pydantic's errors (as FastAPI locates them) as problems, without repeats, at most 100."""
    problems = {_problem(each, body): None for each in found}
    return tuple(problems)[:MAX_PROBLEMS]


def _problem(error: Mapping[str, Any], body: Any) -> Problem:
    kind = error["type"]
    message = "the value is not valid" if kind in _QUOTING else words_of(error)
    return Problem(path=_path(place_of(error), kind, body), code=kind, message=message)


def _path(location: Sequence[str | int], kind: str, body: Any) -> str:
    """A JSON pointer into the body; `query/limit` and the like for what is outside of it.

    Pydantic's location also names the branches of unions; only what is in the body is kept.
    """
    where, *steps = location
    if where != "body":
        return "/".join(map(str, location))
    path, value = "", body
    for position, step in enumerate(steps):
        last = position == len(steps) - 1
        if isinstance(value, dict) and isinstance(step, str):
            if step in value:
                value = value[step]
            elif not (last and kind == "missing"):
                continue
        elif isinstance(value, list) and isinstance(step, int) and 0 <= step < len(value):
            value = value[step]
        else:
            continue
        path = pointer(path, step)
    return path
