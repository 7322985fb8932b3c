"""Which query parameters a route takes: one that it does not know, or meets twice, is refused and not dropped.

A filter that is dropped in silence answers a question that nobody asked.
"""

from collections.abc import Iterator, Mapping
from typing import get_args, get_origin

from fastapi import Request
from fastapi.dependencies.models import Dependant

from aex_models.work import Problem
from aex_runtime.errors import Unprocessable, told
from aex_runtime.http.json_problems import MAX_PROBLEMS

_SHOWN_CHARS = 64


def taken_by(dependant: Dependant) -> Mapping[str, bool]:
    """The query parameters of a route and of all that it depends on; true for those that may be repeated."""
    return dict(_each(dependant))


def check_parameters(request: Request, taken: Mapping[str, bool]) -> None:
    """Raise `Unprocessable`, naming every parameter that the route does not take, or not more than once."""
    given = request.query_params
    problems = [
        found
        for name in list(given)[:MAX_PROBLEMS]
        for found in [_problem(name, len(given.getlist(name)), taken)]
        if found
    ]
    if problems:
        raise Unprocessable(problems[0].code, told(problems), problems)


def _problem(name: str, times: int, taken: Mapping[str, bool]) -> Problem | None:
    shown = name if len(name) <= _SHOWN_CHARS else f"{name[:_SHOWN_CHARS]}…"
    if name not in taken:
        known = f"those of this route are {', '.join(sorted(taken))}" if taken else "this route takes none"
        message = f"there is no query parameter {shown}: {known}"
        return Problem(path=f"query/{shown}", code="unknown_parameter", message=message)
    if times > 1 and not taken[name]:
        message = f"the query parameter {shown} is given {times} times: once is all"
        return Problem(path=f"query/{shown}", code="repeated_parameter", message=message)
    return None


def _each(dependant: Dependant) -> Iterator[tuple[str, bool]]:
    for parameter in dependant.query_params:
        yield parameter.alias, _is_list(parameter.field_info.annotation)
    for each in dependant.dependencies:
        yield from _each(each)


def _is_list(annotation: object) -> bool:
    return get_origin(annotation) is list or any(_is_list(each) for each in get_args(annotation))
