"""Problems that checks find, separated by shape and meaning."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from aex_models.validation_messages import error_location, message_of
from aex_models.work import Problem
from aex_outcomes.json_values import MISSING, join_pointer

CRITERIA = "/success_criteria"
_METRIC_ERRORS = frozenset({"unknown_metric", "invalid_metric_type"})
"""Errors of a criterion that make problems of its threshold meaningless."""


@dataclass(frozen=True, slots=True)
class CheckFindings:
    """Problems by kind. Within `success_criteria` every problem is semantic, also one of shape."""

    semantic: tuple[Problem, ...] = ()
    shape: tuple[Problem, ...] = ()

    def __add__(self, other: "CheckFindings") -> "CheckFindings":
        return CheckFindings(self.semantic + other.semantic, self.shape + other.shape)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Return all problems, each once, in the order of their paths."""
        found = {*self.semantic, *self.shape}
        criteria_in_error = {each.path.rpartition("/")[0] for each in found if each.code in _METRIC_ERRORS}
        thresholds = {f"{criterion}/threshold" for criterion in criteria_in_error}
        relevant = (each for each in found if each.code != "invalid_threshold" or each.path not in thresholds)
        return tuple(sorted(relevant, key=lambda each: (each.path, each.code, each.message)))


def classify_problems(problems: Iterable[Problem]) -> CheckFindings:
    """Separate problems of shape by their position."""
    listed = list(problems)
    inside = tuple(each for each in listed if _in_criteria(each.path))
    return CheckFindings(inside, tuple(each for each in listed if not _in_criteria(each.path)))


def _in_criteria(path: str) -> bool:
    return path == CRITERIA or path.startswith(f"{CRITERIA}/")


def convert_validation_error(
    error: ValidationError, body: Any, root: str = "", most: int | None = None, model: Any = None
) -> list[Problem]:
    """Convert pydantic's errors, or the first `most`, to problems without values of the body.

    `model` is the type that the body was to have: an unknown field is answered with its fields.
    Where a field takes several kinds, pydantic reports each kind's errors under tags. The tags are dropped, and so are
    errors for which a deeper error of the same value exists.
    """
    found = [_convert(each, body, root, model) for each in error.errors(include_url=False)[:most]]
    paths = [problem.path for _, problem in found]
    enclosing = {path[:end] for path in paths for end, character in enumerate(path) if character == "/"}
    reported: set[str] = set()
    problems: list[Problem] = []
    for tagged, problem in found:
        if not (tagged and (problem.path in reported or problem.path in enclosing)):
            problems.append(problem)
        reported.add(problem.path)
    return problems


def _convert(error: Any, body: Any, root: str, model: Any) -> tuple[bool, Problem]:
    """Return True for an error whose pydantic location has tags, and the error as a problem."""
    location = error_location(error)
    segments = _real_segments(location, body, missing=error["type"] == "missing")
    problem = Problem(path=root + join_pointer(*segments), code=error["type"], message=message_of(error, model))
    return len(segments) < len(location), problem


def _real_segments(loc: tuple[int | str, ...], body: Any, *, missing: bool) -> list[int | str]:
    """Return the segments of a pydantic location that lead through the body, and a missing field's name."""
    segments: list[int | str] = []
    for position, segment in enumerate(loc):
        inner = _step(body, segment)
        if inner is not MISSING or (missing and position == len(loc) - 1):
            segments.append(segment)
            body = inner
    return segments


def _step(value: Any, segment: int | str) -> Any:
    if isinstance(value, Mapping):
        return value.get(segment, MISSING)
    if isinstance(segment, int) and isinstance(value, list | tuple) and 0 <= segment < len(value):
        return value[segment]
    return MISSING
