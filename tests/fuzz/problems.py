"""What every answer to bad input has to be: told where, in words, and without a word of the input."""

import json
from collections.abc import Collection
from typing import Any

from aex_models.work import Problem
from aex_outcomes.pointer import MISSING, is_pointer, resolve


def assert_told(problems: Collection[Problem], body: Any) -> None:
    """Each problem can be sent, says something, and lies at a place of the body: one that is there, or is wanted."""
    told = {each.path for each in problems}
    for problem in problems:
        json.dumps(problem.model_dump(mode="json")).encode()
        assert problem.code
        assert problem.message
        assert is_pointer(problem.path), problem
        assert is_there(body, problem.path) or is_wanted(body, problem.path, told), (problem, body)


def is_there(body: Any, path: str) -> bool:
    return resolve(body, path) is not MISSING


def is_wanted(body: Any, path: str, told: Collection[str] = ()) -> bool:
    """Whether a place could be there: what holds it is an object, or wanted itself, or told to be no object."""
    above, _, name = path.rpartition("/")
    holder = resolve(body, above)
    if holder is MISSING or holder is None:
        return bool(above) and is_wanted(body, above, told)
    return (isinstance(holder, dict) and not name.isdigit()) or above in told
