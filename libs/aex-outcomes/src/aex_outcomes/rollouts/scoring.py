"""The canonical score of a rollout: the first of four places that holds one."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from aex_models.numbers import is_number
from aex_models.rollout import RolloutResponse
from aex_outcomes.rollouts.sums import exact_mean

DEPRECATED = "metrics.outcome_score is deprecated: write metrics.mean_return"


class ScoreSource(StrEnum):
    """Where a score was found, in the order in which they are asked."""

    MEAN_RETURN = "mean_return"
    CORRECT = "details.correct"
    EPISODE_RETURNS = "episode_returns"
    OUTCOME_SCORE = "outcome_score"


@dataclass(frozen=True, slots=True)
class RolloutScore:
    """A score and where it stood; `value` and `source` are None together where there is none."""

    value: float | None = None
    source: ScoreSource | None = None

    @property
    def warnings(self) -> tuple[str, ...]:
        """What whoever wrote the payload should change."""
        return (DEPRECATED,) if self.source is ScoreSource.OUTCOME_SCORE else ()


def score_rollout(payload: Any) -> float | None:
    """The canonical score of a rollout, or None where it has none: absent, which is not 0.

    `metrics.mean_return`, else `metrics.details.correct` (true 1.0, false 0.0), else the mean of
    `metrics.episode_returns`, else the deprecated `metrics.outcome_score`, with a `DeprecationWarning`.
    0.0 is a score and stops the chain. Booleans (but in `correct`), NaN, infinities and text are none, and are passed
    over; so is a list of returns that is empty or has one of them in it.

    `payload`: a `RolloutResponse` or plain JSON, which need not be a valid one: old payloads have no `mean_return`. One
    without `metrics` may have the rollout at `rollout`, as outputs have. Whatever it is, nothing is raised.
    """
    found = find_score(payload)
    for warning in found.warnings:
        warnings.warn(warning, DeprecationWarning, stacklevel=2)
    return found.value


def score_or_zero(payload: Any) -> float:
    """`score_rollout`, for callers that want 0.0 for absent."""
    found = find_score(payload)
    for warning in found.warnings:
        warnings.warn(warning, DeprecationWarning, stacklevel=2)
    return 0.0 if found.value is None else found.value


def find_score(payload: Any) -> RolloutScore:
    """`score_rollout` with the score's place; a deprecated one is told in `warnings`, and not warned of."""
    metrics = _metrics_of(payload)
    if not isinstance(metrics, Mapping):
        return RolloutScore()
    for source, read in _CHAIN:
        value = read(metrics)
        if value is not None:
            return RolloutScore(value, source)
    return RolloutScore()


def _metrics_of(payload: Any) -> Any:
    """The rollout's own, or else those of the rollout within."""
    if isinstance(payload, Mapping) and "metrics" not in payload:
        payload = payload.get("rollout")
    if isinstance(payload, RolloutResponse):
        return payload.metrics.model_dump()
    return payload.get("metrics") if isinstance(payload, Mapping) else None


def _number(value: Any) -> float | None:
    return float(value) if is_number(value) else None


def _correct(metrics: Mapping[str, Any]) -> float | None:
    details = metrics.get("details")
    correct = details.get("correct") if isinstance(details, Mapping) else None
    return float(correct) if isinstance(correct, bool) else None


def _mean(metrics: Mapping[str, Any]) -> float | None:
    returns = metrics.get("episode_returns")
    if not isinstance(returns, list | tuple) or not returns or not all(is_number(each) for each in returns):
        return None
    return exact_mean(returns)


_CHAIN: tuple[tuple[ScoreSource, Callable[[Mapping[str, Any]], float | None]], ...] = (
    (ScoreSource.MEAN_RETURN, lambda metrics: _number(metrics.get("mean_return"))),
    (ScoreSource.CORRECT, _correct),
    (ScoreSource.EPISODE_RETURNS, _mean),
    (ScoreSource.OUTCOME_SCORE, lambda metrics: _number(metrics.get("outcome_score"))),
)
