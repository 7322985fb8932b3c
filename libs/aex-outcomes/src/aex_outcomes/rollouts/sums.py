"""Sums and means of rewards: correctly rounded, whatever their order, and never an exception."""

import math
from collections.abc import Sequence

_DOWN = -64
"""A power of two by which all is scaled where a sum of doubles leaves their range on its way: that loses no digit."""


def exact_sum(values: Sequence[float]) -> float:
    """Σ values as the nearest double; ±inf where that is beyond all doubles. Of nothing: 0.0."""
    try:
        return math.fsum(values)
    except OverflowError:
        return _unscaled(_scaled_sum(values))


def exact_mean(values: Sequence[float]) -> float:
    """Σ values / n; a mean of doubles always is one. Raises `ValueError` for none at all."""
    if not values:
        raise ValueError("the mean of nothing")
    try:
        return math.fsum(values) / len(values)
    except OverflowError:
        return _unscaled(_scaled_sum(values) / len(values))


def _scaled_sum(values: Sequence[float]) -> float:
    return math.fsum(math.ldexp(each, _DOWN) for each in values)


def _unscaled(value: float) -> float:
    try:
        return math.ldexp(value, -_DOWN)
    except OverflowError:
        return math.copysign(math.inf, value)
