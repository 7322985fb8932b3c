"""Requirements on the problems of bad input: a pointer, a message, and no part of the input."""

import json
from collections.abc import Collection
from typing import Any

from aex_models.work import Problem
from aex_outcomes.json_values import MISSING, is_pointer, resolve_pointer


def assert_reported(problems: Collection[Problem], body: Any) -> None:
    """Assert that each problem is serialisable, has a message, and points at a part of the body.

    The pointer may lead to a missing part.
    """
    report = {each.path for each in problems}
    for problem in problems:
        json.dumps(problem.model_dump(mode="json")).encode()
        assert problem.code
        assert problem.message
        assert is_pointer(problem.path), problem
        assert is_there(body, problem.path) or is_expected(body, problem.path, report), (problem, body)


def is_there(body: Any, path: str) -> bool:
    return resolve_pointer(body, path) is not MISSING


def is_expected(body: Any, path: str, report: Collection[str] = ()) -> bool:
    """Return True for a pointer whose container is an object, or is itself missing or reported."""
    above, _, name = path.rpartition("/")
    container = resolve_pointer(body, above)
    if container is MISSING or container is None:
        return bool(above) and is_expected(body, above, report)
    return (isinstance(container, dict) and not name.isdigit()) or above in report
