"""Weights and minimum of criteria that decide as imported groups of graders do."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import product

from aex_cli.importing.checks import Check, CheckGroup, NotTranslatable

_MAX_WEIGHT = 10**9
_DIGITS = range(1, 17)


@dataclass(frozen=True, slots=True)
class WeightedPart:
    """A check or a group by its numbers alone: weight, minimum and parts; a check has no parts."""

    weight: float
    minimum: float | None = None
    parts: "tuple[WeightedPart, ...]" = ()
    is_check: bool = False


@dataclass(frozen=True, slots=True)
class Weighting:
    """Weights of all checks in their order, which of them are required, and the minimum of the others.

    With `minimum` None all checks must be met.
    """

    weights: tuple[float, ...]
    required: tuple[bool, ...]
    minimum: float | None


def compute_weighting(group: CheckGroup, max_criteria: int) -> Weighting:
    """Return the weighting that decides as the group does for every combination of met checks.

    `max_criteria`: maximum of checks. Raises `NotTranslatable` if there are more, or if no weighting decides in the
    same way.
    """
    count = sum(1 for _ in group.checks())
    if count > max_criteria:
        why = f"{count} criteria; at most {max_criteria} are allowed: move some to another work"
        raise NotTranslatable("too_many_criteria", why)
    return _weigh(_to_part(group))


def _to_part(item: Check | CheckGroup) -> WeightedPart:
    if isinstance(item, Check):
        return WeightedPart(item.weight, is_check=True)
    return WeightedPart(item.weight, item.minimum, tuple(map(_to_part, item.items)))


@lru_cache(maxsize=256)  # the rows of an eval mostly have the same weights
def _weigh(group: WeightedPart) -> Weighting:
    weights = _write_weights(list(_flatten(group, Fraction(1))))
    limited = [] if group.minimum is not None else [each for each in group.parts if each.minimum is not None]
    if group.minimum is None and not limited:
        return Weighting(weights, (True,) * len(weights), None)
    if len(limited) > 1:
        raise NotTranslatable("threshold", "two sets have a threshold of their own: one work has one threshold")
    required = tuple(_list_required(group, within=group.minimum is not None))
    return Weighting(weights, required, _find_minimum(group, weights, required))


def _flatten(part: WeightedPart, factor: Fraction) -> Iterator[Fraction]:
    """Yield the weight of each check; those of a group share the group's weight."""
    if part.is_check:
        yield factor * Fraction(repr(part.weight))
        return
    for each in part.parts:
        share = factor if each.is_check else factor * Fraction(repr(each.weight)) / _total(each)
        yield from _flatten(each, share)


def _total(part: WeightedPart) -> Fraction:
    return sum((Fraction(repr(each.weight)) for each in part.parts), Fraction()) or Fraction(1)


def _write_weights(exact: Sequence[Fraction]) -> tuple[float, ...]:
    """Return the weights as decimals, multiplied by one number if they have no finite decimals."""
    if all(Fraction(repr(float(each))) == each for each in exact):
        return tuple(map(float, exact))
    unit = math.lcm(*(each.denominator for each in exact))
    integers = [int(each * unit) for each in exact]
    divisor = math.gcd(*integers)
    if max(integers) // divisor > _MAX_WEIGHT:
        raise NotTranslatable("weight", "the weights have no common measure: write simpler ones")
    return tuple(float(each // divisor) for each in integers)


def _list_required(part: WeightedPart, *, within: bool) -> Iterator[bool]:
    """Yield whether each check is required: those outside a group with a minimum. `within`: inside one."""
    for each in part.parts:
        if each.is_check:
            yield not within
        else:
            yield from _list_required(each, within=within or each.minimum is not None)


def _find_minimum(group: WeightedPart, weights: Sequence[float], required: Sequence[bool]) -> float:
    """Return a minimum share that separates the combinations that pass from those that fail.

    Every combination is tried: tools add weights in floating-point numbers, the engine exactly.
    """
    exact = [Fraction(repr(each)) for each in weights]
    passing, failing = Fraction(2), Fraction(-1)
    for met in product((False, True), repeat=len(weights)):
        if any(needed and not each for needed, each in zip(required, met, strict=True)):
            continue
        share = sum((weight for weight, each in zip(exact, met, strict=True) if each), Fraction()) / sum(exact)
        if _passes(group, list(met)):
            passing = min(passing, share)
        else:
            failing = max(failing, share)
    if passing > 1:
        raise NotTranslatable("threshold", "nothing can reach the threshold")
    if failing >= passing:
        raise NotTranslatable("threshold", "rounded sums of the weights decide about the threshold: change a weight")
    middle = float((max(failing, Fraction(0)) + passing) / 2)
    proposed = [group.minimum or 0.0, *(round(middle, digits) for digits in _DIGITS)]
    return next(each for each in proposed if failing < Fraction(repr(each)) <= passing)


def _passes(part: WeightedPart, met: list[bool]) -> bool:
    """Return True if the group passes; removes the values of its checks from `met`."""
    return _grade(part, met)[0]


def _grade(part: WeightedPart, met: list[bool]) -> tuple[bool, float]:
    """Return whether a part passes, and its score.

    Scores are added in order and in floating-point numbers, as other tools do. The values of checks are removed from
    `met`.
    """
    if part.is_check:
        is_met = met.pop(0)
        return is_met, float(is_met)
    total = weights = 0.0
    passes = True
    for each in part.parts:
        is_met, score = _grade(each, met)
        passes = passes and is_met
        total += score * each.weight
        weights += each.weight
    score = total / weights if weights else 0.0
    return (passes if part.minimum is None else score >= part.minimum), score
