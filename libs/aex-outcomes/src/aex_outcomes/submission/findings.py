"""What checks find: problems, and whether they are of shape or of sense."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from aex_models.validation_words import place_of, words_of
from aex_models.work import Problem
from aex_outcomes.pointer import MISSING, join

CRITERIA = "/success_criteria"
_MISTAKEN = frozenset({"unknown_metric", "invalid_metric_type"})
"""What is wrong with a criterion so that nothing can be said of its threshold yet."""


@dataclass(frozen=True, slots=True)
class Findings:
    """Problems, apart by kind. Within `success_criteria` every problem is semantic, also one of shape."""

    semantic: tuple[Problem, ...] = ()
    shape: tuple[Problem, ...] = ()

    def __add__(self, other: "Findings") -> "Findings":
        return Findings(self.semantic + other.semantic, self.shape + other.shape)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """All of them, each once, in the order of their paths."""
        found = {*self.semantic, *self.shape}
        mistaken = {each.path.rpartition("/")[0] for each in found if each.code in _MISTAKEN}
        echoes = {f"{criterion}/threshold" for criterion in mistaken}
        told = (each for each in found if each.code != "invalid_threshold" or each.path not in echoes)
        ordered = sorted(told, key=lambda each: (each.path, each.code, each.message))
        return tuple(ordered)


def sorted_by_kind(problems: Iterable[Problem]) -> Findings:
    """Problems of shape, apart by where they lie."""
    listed = list(problems)
    inside = tuple(each for each in listed if _in_criteria(each.path))
    return Findings(inside, tuple(each for each in listed if not _in_criteria(each.path)))


def _in_criteria(path: str) -> bool:
    return path == CRITERIA or path.startswith(f"{CRITERIA}/")


def problems_of(error: ValidationError, body: Any, root: str = "", most: int | None = None) -> list[Problem]:
    """pydantic's errors, or the first `most` of them, as problems: real paths, and never a value of the body.

    Where a field takes several kinds, pydantic reports each kind's errors under tags of its own. The tags are
    dropped, and so is what a deeper error of the same value says better.
    """
    found = [_located(each, body, root) for each in error.errors(include_url=False, include_input=False)[:most]]
    within = {above for _, problem in found for above in _above(problem.path)}
    seen: set[str] = set()
    kept: list[Problem] = []
    for tagged, problem in found:
        if not (tagged and (problem.path in seen or problem.path in within)):
            kept.append(problem)
        seen.add(problem.path)
    return kept


def _above(path: str) -> Iterator[str]:
    """The pointers to what a place lies in."""
    while path:
        path = path.rpartition("/")[0]
        yield path


def _located(error: Any, body: Any, root: str) -> tuple[bool, Problem]:
    """An error as a problem, and whether pydantic's location had tags in it."""
    place = place_of(error)
    segments = _real(place, body, missing=error["type"] == "missing")
    problem = Problem(path=root + join(*segments), code=error["type"], message=words_of(error))
    return len(segments) < len(place), problem


def _real(loc: tuple[int | str, ...], body: Any, *, missing: bool) -> list[int | str]:
    """The segments of a pydantic location that lead through the body; the name of a missing field at the end."""
    segments: list[int | str] = []
    place = body
    for position, segment in enumerate(loc):
        within = _step(place, segment)
        if within is not MISSING:
            place = within
        elif not (missing and position == len(loc) - 1):
            continue
        segments.append(segment)
    return segments


def _step(place: Any, segment: int | str) -> Any:
    if isinstance(place, Mapping):
        return place.get(segment, MISSING)
    if isinstance(segment, int) and isinstance(place, list | tuple) and 0 <= segment < len(place):
        return place[segment]
    return MISSING
