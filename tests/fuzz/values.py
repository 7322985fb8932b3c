"""Unexpected JSON, valid documents altered at one position, and checks of reported problems."""

import copy
import json
from collections.abc import Collection, Iterator
from typing import Any

from hypothesis import strategies as st

from aex_models.canonical import is_json_pointer
from aex_models.numbers import MAX_SAFE_INTEGER, JsonFloat
from aex_models.work import Problem
from aex_outcomes.json_values import MISSING, resolve_pointer

Path = tuple[str | int, ...]
NUMBERS = st.sampled_from(
    [0, -0.0, 1, -1, 0.1, 1e-7, 5e-324, 1.7976931348623157e308, 1e16, 1e21, 100, 100.00000001, 2**53, -(2**63), 10**25]
)
_SIGNS = [
    *("", " ", "0", "1e3", "NaN", "true", "null", "(", "~0/~1", "../..", "$ref"),
    *("é", "e\u0301", "\u202e", "{kind}", "😀"),
]
_TERMS = [
    *("rougeL", "accuracy", "custom.x", "stat.x", "percentage"),
    *("in_range", "contains_all", "weighted", "on_success"),
]
WORDS = st.sampled_from([*_SIGNS, *_TERMS])
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20) | WORDS
SCALARS = (
    st.none()
    | st.booleans()
    | NUMBERS
    | st.integers(-MAX_SAFE_INTEGER, MAX_SAFE_INTEGER)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["0.10", "1.0000000", "1e2", "0.30000000000000004", "-0.0"]).map(JsonFloat)
    | TEXT
)
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4), max_leaves=8
)
"""Scalars of a body that was read."""
INVALID_SCALARS = (
    SCALARS
    | st.floats()
    | st.integers()
    | st.text(max_size=5)
    | st.sampled_from([10**400, "\ud800", "\0", "x" * 10_000, b"x", 1j])
)
INVALID = st.recursive(
    INVALID_SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=8,
)
"""Further scalars that a caller from Python may use."""


def positions(value: Any, path: Path = ()) -> Iterator[Path]:
    yield path
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in parts:
        yield from positions(item, (*path, key))


@st.composite
def mutated(draw: st.DrawFn, good: st.SearchStrategy[Any], invalid: st.SearchStrategy[Any] = JSON) -> Any:
    body = draw(good)
    path = draw(st.sampled_from(list(positions(body))))
    if not path:
        return draw(invalid)
    body = copy.deepcopy(body)
    container = body
    for step in path[:-1]:
        container = container[step]
    _change(draw, container, path[-1], invalid)
    return body


def _change(draw: st.DrawFn, container: Any, key: Any, invalid: st.SearchStrategy[Any]) -> None:
    how = draw(st.sampled_from(["replace", "replace", "drop", "add", "rename", "wrap", "twice"]))
    if how == "drop":
        del container[key]
    elif how == "add":
        if isinstance(container, dict):
            container[draw(TEXT)] = draw(invalid)
        else:
            container.insert(key, draw(invalid))
    elif how == "rename" and isinstance(container, dict):
        container[draw(TEXT)] = container.pop(key)
    elif how == "wrap":
        container[key] = draw(st.sampled_from([[container[key]], {"value": container[key]}, str(container[key])]))
    elif how == "twice" and isinstance(container, list):
        container.append(copy.deepcopy(container[key]))
    else:
        container[key] = draw(invalid)


def assert_reported(problems: Collection[Problem], body: Any) -> None:
    """Assert that each problem is serialisable, has a message, and points at a part of the body.

    The pointer may lead to a missing part.
    """
    report = {each.path for each in problems}
    for problem in problems:
        json.dumps(problem.model_dump(mode="json")).encode()
        assert problem.code
        assert problem.message
        assert is_json_pointer(problem.path), problem
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
