"""How near two numbers are to being the same, beside the values that a statistic was computed of."""

import math
from dataclasses import dataclass
from fractions import Fraction

from aex_models.statistics import Statistic

_ZERO = Fraction(1, 10**9)
"""Of max|x|: what a claim of 0 may stand for."""
_NOISE = Fraction(1, 10**13)
"""Of max|x|: what is left in doubles of summands that cancel out. 1.85e-17 and 9e-18 are the same nothing."""
_CANCELLING = frozenset({Statistic.MEAN, Statistic.SUM})
_COUNTS = frozenset({Statistic.COUNT, Statistic.N_UNIQUE})


@dataclass(frozen=True, slots=True)
class Scale:
    """Two bounds in the unit of a statistic. Without any, only 0 is 0, and rounding explains nothing."""

    zero: float = 0.0
    """The largest |value| that may be claimed to be 0."""
    noise: float = 0.0
    """How far results of the same sums lie apart by rounding alone; 0 where nothing is summed that cancels out."""


def of_one_column(stat: Statistic, largest: float, count: int) -> Scale:
    """Of a statistic of `count` values; `largest`: max|x|. Of a variance, too, zero is in the unit of the values."""
    if stat in _COUNTS:
        return Scale()
    noise = _NOISE * Fraction(largest) if stat in _CANCELLING else Fraction()
    return Scale(_double(_ZERO * Fraction(largest)), _double(noise * count if stat is Statistic.SUM else noise))


def of_two_columns(ratio: Fraction | None = None) -> Scale:
    """Of a correlation; or of a slope, `ratio`: the largest deviation of y from its mean over that of x."""
    unit = Fraction(1) if ratio is None else ratio
    return Scale(_double(_ZERO * unit), _double(_NOISE * unit))


def _double(value: Fraction) -> float:
    """The nearest double. What is beyond them all is infinite: every double is nothing beside it."""
    try:
        return float(value)
    except OverflowError:
        return math.inf
