"""Problems that checks of a body find, and conversion of pydantic's errors to problems."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from aex_models.validation_messages import build_error_location, message_of
from aex_models.work import Problem
from aex_outcomes.json_values import MISSING, join_pointer

CRITERIA = "/success_criteria"
_METRIC_ERRORS = frozenset({"unknown_metric", "invalid_metric_type"})
"""Codes of a criterion's problems that make problems of its threshold meaningless."""


@dataclass(frozen=True, slots=True)
class CheckFindings:
    """Problems of a body in two kinds, which decide the status of the answer; `+` joins two of these."""

    semantic: tuple[Problem, ...] = ()
    """Problems of meaning, and all problems within `success_criteria`."""
    shape: tuple[Problem, ...] = ()
    """Problems of missing or wrong fields elsewhere."""

    def __add__(self, other: "CheckFindings") -> "CheckFindings":
        return CheckFindings(self.semantic + other.semantic, self.shape + other.shape)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Return all problems, each once, sorted by path; without those of thresholds of unknown metrics."""
        found = {*self.semantic, *self.shape}
        criteria_in_error = {each.path.rpartition("/")[0] for each in found if each.code in _METRIC_ERRORS}
        thresholds = {f"{criterion}/threshold" for criterion in criteria_in_error}
        relevant = (each for each in found if each.code != "invalid_threshold" or each.path not in thresholds)
        return tuple(sorted(relevant, key=lambda each: (each.path, each.code, each.message)))


def classify_problems(problems: Iterable[Problem]) -> CheckFindings:
    """Divide problems into semantic ones, which are within `success_criteria`, and problems of shape."""
    listed = list(problems)
    inside = tuple(each for each in listed if _in_criteria(each.path))
    return CheckFindings(inside, tuple(each for each in listed if not _in_criteria(each.path)))


def _in_criteria(path: str) -> bool:
    return path == CRITERIA or path.startswith(f"{CRITERIA}/")


def convert_validation_error(
    error: ValidationError, body: Any, root: str = "", max_problems: int | None = None, model: Any = None
) -> list[Problem]:
    """Convert pydantic's errors about a body to problems that quote no value, at most `max_problems`.

    `root`: JSON pointer of the body. `model`: type that the body should have; its fields are named if a field is
    unknown. Where a field may have several types, pydantic puts tags into the location of an error. These tags are
    removed, and so are errors for which there is a more specific error of the same value.
    """
    found = [_convert(each, body, root, model) for each in error.errors(include_url=False)[:max_problems]]
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
    """Return the error as a problem, after True if its pydantic location has tags."""
    location = build_error_location(error)
    segments = _real_segments(location, body, missing=error["type"] == "missing")
    problem = Problem(path=root + join_pointer(*segments), code=error["type"], message=message_of(error, model))
    return len(segments) < len(location), problem


def _real_segments(loc: tuple[int | str, ...], body: Any, *, missing: bool) -> list[int | str]:
    """Return the segments of a pydantic location without tags; a missing field's name is the last."""
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
