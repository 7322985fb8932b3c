"""Errors of predicted numbers, the coefficient of determination, and Spearman's rank correlation.

Equal to scikit-learn's `mean_absolute_error`, `root_mean_squared_error`, `mean_absolute_percentage_error` and
`r2_score`, and to scipy's `spearmanr`, to 1e-9.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from operator import mul, sub, truediv

_LEAST_DIVISOR = 2.0**-52
"""Divisor of errors of smaller targets, as in scikit-learn: the epsilon of a double."""
_LEAST_SQUARES, _GREATEST_SQUARES = 2.0**-900, 2.0**900
"""Range in which sums of squares are exact to the last digits; beyond, squares overflow or vanish."""
_SHRINKING = 2.0**-128
"""Factor for targets so large that their sum overflows."""


class UndefinedScore(ValueError):
    """Error of a score that does not exist for these numbers, or that no double holds."""


@dataclass(frozen=True)
class NumberPairs:
    """Targets and their predictions: finite floats, equally many, and at least one pair."""

    targets: Sequence[float]
    predictions: Sequence[float]

    @cached_property
    def _absolute_errors(self) -> list[float]:
        return list(map(abs, map(sub, self.targets, self.predictions)))

    @cached_property
    def _squared_errors(self) -> float:
        return _sum_squares(self._absolute_errors)

    def mean_absolute_error(self) -> float:
        """Return the mean of the absolute errors. Raises `UndefinedScore` on overflow."""
        return _mean(self._absolute_errors, len(self.targets))

    def root_mean_squared_error(self) -> float:
        """Return the root of the mean squared error. Raises `UndefinedScore` on overflow."""
        count = len(self.targets)
        if _LEAST_SQUARES < self._squared_errors < _GREATEST_SQUARES:
            return math.sqrt(self._squared_errors / count)
        return _require_finite(math.hypot(*self._absolute_errors) / math.sqrt(count))

    def mean_absolute_percentage_error(self) -> float:
        """Return the mean of the absolute errors, each divided by its target: 1 is 100 %.

        The divisor is the target's absolute value, and at least the epsilon of a double. Raises `UndefinedScore` on
        overflow.
        """
        divisors = list(map(abs, self.targets))
        if min(divisors) < _LEAST_DIVISOR:
            divisors = [max(each, _LEAST_DIVISOR) for each in divisors]
        return _mean(map(truediv, self._absolute_errors, divisors), len(self.targets))

    def coefficient_of_determination(self) -> float:
        """Return R², which is at most 1.

        It is 1 minus the squared errors, divided by the squared deviations of the targets from their mean. For constant
        targets it is 1 if all predictions are exact, else 0. Raises `UndefinedScore` on overflow.
        """
        if _is_constant(self.targets):
            return float(not any(self._absolute_errors))
        squares = _sum_squared_deviations(self.targets)
        if squares > _LEAST_SQUARES and max(squares, self._squared_errors) < _GREATEST_SQUARES:
            return 1.0 - self._squared_errors / squares
        return self._scaled_determination()

    def _scaled_determination(self) -> float:
        """Return R² of numbers whose squares, or whose sum, a double does not hold."""
        scale = _SHRINKING if max(map(abs, self.targets)) > _GREATEST_SQUARES else 1.0
        targets = [each * scale for each in self.targets]
        mean = math.fsum(targets) / len(targets)
        ratio = math.hypot(*(each * scale for each in self._absolute_errors)) / math.dist(
            targets, [mean] * len(targets)
        )
        return _require_finite(1.0 - ratio * ratio)

    def spearman_correlation(self) -> float:
        """Return Spearman's rank correlation, from -1 to 1; equal numbers have the average of their ranks.

        Raises `UndefinedScore` if the targets or the predictions are constant.
        """
        if _is_constant(self.targets) or _is_constant(self.predictions):
            raise UndefinedScore("constant numbers have no rank correlation")
        x, y = _double_ranks(self.targets), _double_ranks(self.predictions)
        squared_mean = len(x) * (len(x) + 1) ** 2
        covariance, x_variance, y_variance = (sum(map(mul, *pair)) - squared_mean for pair in ((x, y), (x, x), (y, y)))
        return correlate_integers(covariance, x_variance, y_variance)


def correlate_integers(covariance: int, x_variance: int, y_variance: int) -> float:
    """Return the covariance divided by the root of the product of the variances, which are above 0."""
    if x_variance == y_variance:  # a root would round
        return covariance / x_variance
    return max(-1.0, min(1.0, covariance / math.sqrt(x_variance * y_variance)))


def _is_constant(numbers: Sequence[float]) -> bool:
    return numbers.count(numbers[0]) == len(numbers)


def _double_ranks(numbers: Sequence[float]) -> list[int]:
    """Return twice the ranks, which are integers; equal numbers have the average of their ranks, from 1."""
    ordered, size = sorted(numbers), len(numbers)
    doubled = dict(zip(ordered, range(2, 2 * size + 1, 2), strict=True))
    if len(doubled) < size:  # of equal numbers the last one counts here, and the first one in the other direction
        first = dict(zip(reversed(ordered), range(2 * size, 1, -2), strict=True))
        doubled = {number: (rank + first[number]) // 2 for number, rank in doubled.items()}
    return list(map(doubled.__getitem__, numbers))


def _sum_squared_deviations(numbers: Sequence[float]) -> float:
    """Return the sum of the squared deviations from the mean; infinite on overflow."""
    try:
        mean = math.fsum(numbers) / len(numbers)
    except OverflowError:
        return math.inf
    return _sum_squares(list(map(sub, numbers, repeat(mean))))


def _sum_squares(numbers: Sequence[float]) -> float:
    """Return the sum of the squares; infinite on overflow."""
    try:
        return math.fsum(map(mul, numbers, numbers))
    except OverflowError:
        return math.inf


def _mean(numbers: Iterable[float], count: int) -> float:
    try:
        return _require_finite(math.fsum(numbers) / count)
    except OverflowError:
        return _require_finite(math.inf)


def _require_finite(score: float) -> float:
    if not math.isfinite(score):
        raise UndefinedScore("the predictions are too far from the targets for a score that a double holds")
    return score
