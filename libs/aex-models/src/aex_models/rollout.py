"""Rollouts as trainers of reinforcement learning exchange them (spec file 4)."""

from typing import Any

from pydantic import ConfigDict

from aex_models.frozen import Frozen, StrictBool, StrictInt


class _Open(Frozen):
    """Rollout payloads come from other people's code: fields beyond ours are kept, not refused."""

    model_config = ConfigDict(extra="allow")


class RolloutStep(_Open):
    """One step of an episode."""

    obs: Any
    action: Any
    reward: float | None = None
    done: StrictBool | None = None
    info: dict[str, Any] | None = None


class RolloutTrajectory(_Open):
    """One episode."""

    env_id: str
    policy_id: str
    inference_url: str
    """Carries the correlation id as `?cid=`."""
    steps: tuple[RolloutStep, ...]
    length: StrictInt | None = None


class RolloutMetrics(_Open):
    """The figures that a trainer reads."""

    episode_returns: tuple[float, ...]
    mean_return: float
    num_steps: StrictInt
    num_episodes: StrictInt | None = None
    events_score: float | None = None
    details: dict[str, Any] | None = None
    outcome_score: float | None = None
    """Deprecated: read last, and with a warning."""


class RolloutResponse(_Open):
    """The output of a rollout task."""

    run_id: str
    trajectories: tuple[RolloutTrajectory, ...]
    metrics: RolloutMetrics
