"""Figures of a rollout: returns recomputed from the rewards of its steps, and its canonical score.

The return of an episode is the sum of its steps' rewards. Sums are correctly rounded, whatever their order.
"""

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from aex_models.examination import DataOwner, Recomputed, ReconciliationStatus
from aex_models.numbers import MAX_SAFE_INTEGER, JsonFloat, is_finite_number
from aex_models.rollout import RolloutResponse, RolloutTrajectory
from aex_outcomes.science.reconcile import reconcile

_DOWN = -64
"""Exponent of the power of two that values are scaled by if their sum overflows; scaling loses no digit."""


def correctly_rounded_sum(values: Sequence[float]) -> float:
    """Return the double nearest to the exact sum; ±inf if it is too large for a double, 0.0 for no value."""
    try:
        return math.fsum(values)
    except OverflowError:
        return _unscale(_scaled_sum(values))


def correctly_rounded_mean(values: Sequence[float]) -> float:
    """Return the mean of the values, always finite. Raises `ValueError` for no value."""
    if not values:
        raise ValueError("the mean of no value")
    try:
        return math.fsum(values) / len(values)
    except OverflowError:
        return _unscale(_scaled_sum(values) / len(values))


def _scaled_sum(values: Sequence[float]) -> float:
    return math.fsum(math.ldexp(each, _DOWN) for each in values)


def _unscale(value: float) -> float:
    try:
        return math.ldexp(value, -_DOWN)
    except OverflowError:
        return math.copysign(math.inf, value)


ALLOWANCE = 1e-6
"""Allowed difference of a claimed return, as a share of the sum of the rewards' magnitudes.

Trainers lose as much when they add a thousand cancelling rewards in single precision.
"""


@dataclass(frozen=True, slots=True)
class RolloutRecount:
    """Figures of a rollout recomputed from its steps; None where the steps do not determine a figure."""

    episode_returns: tuple[float, ...] | None
    mean_return: float | None
    num_steps: int | None
    consistent: bool | None
    """False if a claimed figure differs; True if all were determined and none differs; else None."""


def recount_rollout(rollout: RolloutResponse) -> RolloutRecount:
    """Recompute a rollout's figures from its steps, and compare them with its claimed figures.

    Claimed returns and their mean may differ as claims of statistics may (see `reconcile`): by 1 %, or by rounding to
    their own decimals. They may also differ by `ALLOWANCE`; if the recomputed figure is 0, by that alone.

    An episode's return is known if one of its steps has a reward, or if its `length` is 0. Steps without a reward count
    as 0, because many environments reward only the last step. An episode without its steps leaves the mean and the
    number of steps unknown.
    """
    episodes = rollout.trajectories
    steps = sum(len(each.steps) for each in episodes)
    if not steps:
        return RolloutRecount(None, None, None, None)
    sums = [_sum_rewards(each) for each in episodes]
    known_sums = [each for each in sums if each is not None]
    returns = tuple(each.total for each in known_sums)
    is_rewarded = any(each.rewarded for each in known_sums)
    complete = len(known_sums) == len(sums) and is_rewarded and all(map(math.isfinite, returns))
    mean = correctly_rounded_mean(returns) if complete else None
    num_steps = steps if all(each.steps or not each.length for each in episodes) else None
    differs = any(_differences(rollout, sums, num_steps, mean))
    consistent = False if differs else True if complete else None
    return RolloutRecount(returns if complete else None, mean, num_steps, consistent)


@dataclass(frozen=True, slots=True)
class _Summed:
    total: float
    allowance: float
    """Allowed difference of a claimed return."""
    rewarded: bool


def _sum_rewards(episode: RolloutTrajectory) -> _Summed | None:
    rewards = [step.reward for step in episode.steps if step.reward is not None]
    if not rewards:
        return _Summed(0.0, 0.0, rewarded=False) if not episode.steps and not episode.length else None
    # Scaled before the sum, which could overflow and allow everything.
    return _Summed(
        correctly_rounded_sum(rewards),
        correctly_rounded_sum([abs(each) * ALLOWANCE for each in rewards]),
        rewarded=True,
    )


def _differences(
    rollout: RolloutResponse, sums: Sequence[_Summed | None], steps: int | None, mean: float | None
) -> Iterator[bool]:
    """Yield for each figure that the steps determine whether it differs from the claim."""
    claimed, episodes = rollout.metrics, rollout.trajectories
    yield any(each.steps and len(each.steps) != each.length for each in episodes)
    yield steps is not None and steps != claimed.num_steps
    yield claimed.num_episodes not in (None, len(episodes))
    yield len(claimed.episode_returns) != len(episodes)
    for found, claim in zip(sums, claimed.episode_returns, strict=False):
        yield found is not None and not _agree(claim, found.total, found.allowance)
    if mean is not None:
        allowance = correctly_rounded_mean([each.allowance for each in sums if each is not None])
        yield not _agree(claimed.mean_return, mean, allowance)


def _agree(claim: float, actual: float, allowance: float) -> bool:
    if abs(claim - actual) <= allowance:
        return True
    if not math.isfinite(actual):
        return False
    is_integer = claim.is_integer() and abs(claim) <= MAX_SAFE_INTEGER and not isinstance(claim, JsonFloat)
    claim = int(claim) if is_integer else claim  # JSON's 12 became 12.0, and claims no decimals
    recomputed = Recomputed(name="figure", value=actual, owner=DataOwner.AGENT, artifact="")
    [found] = reconcile({"figure": claim}, [recomputed])
    return found.status is ReconciliationStatus.MATCH


DEPRECATED = "metrics.outcome_score is deprecated: write metrics.mean_return"


class ScoreSource(StrEnum):
    """Field of a rollout that its score comes from; the first one with a value is used."""

    MEAN_RETURN = "mean_return"
    CORRECT = "details.correct"
    EPISODE_RETURNS = "episode_returns"
    OUTCOME_SCORE = "outcome_score"


@dataclass(frozen=True, slots=True)
class RolloutScore:
    """Score of a rollout and the field that it comes from; both are None if the rollout has no score."""

    value: float | None = None
    source: ScoreSource | None = None

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return warnings for the rollout's author, such as of a deprecated field."""
        return (DEPRECATED,) if self.source is ScoreSource.OUTCOME_SCORE else ()


def score_rollout(payload: Any) -> float | None:
    """Return the canonical score of a rollout, or None if it has none; None does not mean 0.

    The score is the first of these with a value: `metrics.mean_return`, `metrics.details.correct` (true 1.0, false
    0.0), the mean of `metrics.episode_returns`, and `metrics.outcome_score`. The last is deprecated and causes a
    `DeprecationWarning`. Values that are no finite number are skipped. So are empty lists, and lists with such a value.

    `payload`: a `RolloutResponse` or plain JSON, valid or not, with `metrics` or with the rollout at `rollout`.
    """
    return _warned_score(payload)


def score_or_zero(payload: Any) -> float:
    """Return the score of `score_rollout`, or 0.0 if it is None."""
    return _warned_score(payload) or 0.0


def _warned_score(payload: Any) -> float | None:
    found = find_score(payload)
    for warning in found.warnings:
        warnings.warn(warning, DeprecationWarning, stacklevel=3)
    return found.value


def find_score(payload: Any) -> RolloutScore:
    """Return the score of `score_rollout` and its source field, without a `DeprecationWarning`."""
    metrics = _metrics_of(payload)
    if not isinstance(metrics, Mapping):
        return RolloutScore()
    found = ((read(metrics), source) for source, read in _CHAIN.items())
    return next((RolloutScore(value, source) for value, source in found if value is not None), RolloutScore())


def _metrics_of(payload: Any) -> Any:
    if isinstance(payload, Mapping) and "metrics" not in payload:
        payload = payload.get("rollout")
    if isinstance(payload, RolloutResponse):
        return payload.metrics.model_dump()
    return payload.get("metrics") if isinstance(payload, Mapping) else None


def _to_number(value: Any) -> float | None:
    return float(value) if is_finite_number(value) else None


def _correct(metrics: Mapping[str, Any]) -> float | None:
    details = metrics.get("details")
    correct = details.get("correct") if isinstance(details, Mapping) else None
    return float(correct) if isinstance(correct, bool) else None


def _mean(metrics: Mapping[str, Any]) -> float | None:
    returns = metrics.get("episode_returns")
    if not isinstance(returns, list | tuple) or not returns or not all(map(is_finite_number, returns)):
        return None
    return correctly_rounded_mean(returns)


_CHAIN: dict[ScoreSource, Callable[[Mapping[str, Any]], float | None]] = {
    ScoreSource.MEAN_RETURN: lambda metrics: _to_number(metrics.get("mean_return")),
    ScoreSource.CORRECT: _correct,
    ScoreSource.EPISODE_RETURNS: _mean,
    ScoreSource.OUTCOME_SCORE: lambda metrics: _to_number(metrics.get("outcome_score")),
}
