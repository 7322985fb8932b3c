"""What the steps of a rollout say of its figures: episode return = Σ step rewards, mean, number of steps."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from aex_models.examination import DataOwner, Recomputed, ReconciliationStatus
from aex_models.numbers import MAX_SAFE_INTEGER, JsonFloat
from aex_models.rollout import RolloutResponse, RolloutTrajectory
from aex_outcomes.rollouts.sums import exact_mean, exact_sum
from aex_outcomes.science.reconcile import reconcile

ALLOWANCE = 1e-6
"""Of the sum of the rewards' magnitudes: what adding a thousand of them up in single precision, as trainers do, loses
where they cancel out. Rewards of 0 allow nothing."""
_FIGURE = "figure"


@dataclass(frozen=True, slots=True)
class Recount:
    """The figures as the steps have them; None where they do not tell."""

    episode_returns: tuple[float, ...] | None
    mean_return: float | None
    num_steps: int | None
    consistent: bool | None
    """False where any figure differs; True where all were told and none does."""


def recount(rollout: RolloutResponse) -> Recount:
    """Recompute a rollout's figures from its steps, and hold what it claims against them. Linear in the steps.

    A return, and the mean, are held as claims against statistics are (see `reconcile`): they may be off by 1e-2 of the
    recomputed one, or be rounded at their own decimals; beside that by `ALLOWANCE`, which alone counts for a recomputed
    0. Numbers of steps and episodes are exact.

    An episode's return is told where at least one of its steps has a reward (the others brought none: many
    environments reward the last one alone), or where it is said to have no steps at all (`length` 0). One whose steps
    were left out is unknown, and so are the mean and the number of steps then.
    """
    episodes = rollout.trajectories
    steps = sum(len(each.steps) for each in episodes)
    if not steps:
        return Recount(None, None, None, None)
    sums = [_summed(each) for each in episodes]
    known = [each for each in sums if each is not None]
    returns = tuple(each.total for each in known)
    whole = len(known) == len(sums) and any(each.rewarded for each in known) and all(map(math.isfinite, returns))
    all_told = all(each.steps or not each.length for each in episodes)
    differs = any(_differences(rollout, sums, steps if all_told else None, exact_mean(returns) if whole else None))
    return Recount(
        episode_returns=returns if whole else None,
        mean_return=exact_mean(returns) if whole else None,
        num_steps=steps if all_told else None,
        consistent=False if differs else True if whole else None,
    )


@dataclass(frozen=True, slots=True)
class _Summed:
    """An episode's rewards."""

    total: float
    allowance: float
    """By how much a claim may differ."""
    rewarded: bool


def _summed(episode: RolloutTrajectory) -> _Summed | None:
    rewards = [step.reward for step in episode.steps if step.reward is not None]
    if not rewards:
        return _Summed(0.0, 0.0, rewarded=False) if not episode.steps and not episode.length else None
    # Scaled before they are added up: the sum itself may lie beyond all doubles, and would allow everything.
    return _Summed(exact_sum(rewards), exact_sum([abs(each) * ALLOWANCE for each in rewards]), rewarded=True)


def _differences(
    rollout: RolloutResponse, sums: Sequence[_Summed | None], steps: int | None, mean: float | None
) -> Iterator[bool]:
    """Whether each figure that the steps tell of differs from what is claimed."""
    claimed, episodes = rollout.metrics, rollout.trajectories
    yield any(each.steps and len(each.steps) != each.length for each in episodes)
    yield steps is not None and steps != claimed.num_steps
    yield claimed.num_episodes not in (None, len(episodes))
    yield len(claimed.episode_returns) != len(episodes)
    for found, told in zip(sums, claimed.episode_returns, strict=False):
        yield found is not None and not _agree(told, found.total, found.allowance)
    if mean is not None:
        allowance = exact_mean([each.allowance for each in sums if each is not None])
        yield not _agree(claimed.mean_return, mean, allowance)


def _agree(told: float, actual: float, allowance: float) -> bool:
    """Whether a claimed figure is the recomputed one."""
    if abs(told - actual) <= allowance:
        return True
    if not math.isfinite(actual):
        return False
    whole = told.is_integer() and abs(told) <= MAX_SAFE_INTEGER and not isinstance(told, JsonFloat)
    claim = int(told) if whole else told  # JSON's 12 became 12.0, and claims no decimals
    recomputed = Recomputed(name=_FIGURE, value=actual, owner=DataOwner.AGENT, artifact="")
    [found] = reconcile({_FIGURE: claim}, [recomputed])
    return found.status is ReconciliationStatus.MATCH
