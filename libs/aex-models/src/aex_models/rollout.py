"""Models of rollouts, the format of trainers of reinforcement learning (spec file 4)."""

from typing import Annotated, Any
from urllib.parse import parse_qs, urlsplit

from pydantic import AfterValidator, ConfigDict, FailFast, Field
from pydantic_core import PydanticCustomError

from aex_models.frozen import Frozen, StrictBool, StrictFloat, StrictInt
from aex_models.numbers import MAX_SAFE_INTEGER

Count = Annotated[StrictInt, Field(ge=0, le=MAX_SAFE_INTEGER)]


def parse_correlation_id(url: str) -> str | None:
    """Return the query parameter `cid` of an inference URL; None if the text is no URL or has no `cid`."""
    try:
        parts = urlsplit(url)
        found = parse_qs(parts.query)
    except ValueError:
        return None
    return found["cid"][0] if parts.scheme and "cid" in found else None


def _check_correlation_id(url: str) -> str:
    if parse_correlation_id(url) is None:
        raise PydanticCustomError("no_correlation_id", "Expected a URL with a correlation id, such as https://…?cid=ID")
    return url


class _Open(Frozen):
    """The base of rollout models. They keep unknown fields, because other programs write rollouts."""

    model_config = ConfigDict(extra="allow")


class RolloutStep(_Open):
    """A step of an episode: an observation, the policy's action and its reward."""

    obs: Any
    """The policy's observation; `{}` if not recorded."""
    action: Any
    """The policy's action; `{}` if not recorded."""
    reward: StrictFloat | None = None
    """Reward of the step; None or absent if there is none or it is unknown."""
    done: StrictBool | None = None
    info: dict[str, Any] | None = None


class RolloutTrajectory(_Open):
    """An episode: the steps of a policy in an environment."""

    env_id: str
    policy_id: str
    inference_url: Annotated[str, Field(max_length=8_192), AfterValidator(_check_correlation_id)]
    """URL with the correlation id as its query parameter `cid`."""
    steps: Annotated[tuple[RolloutStep, ...], FailFast()]
    """May be empty."""
    length: Count
    """The number of steps in the episode, also of those not recorded."""


class RolloutMetrics(_Open):
    """The figures that summarise a rollout for a trainer."""

    episode_returns: Annotated[tuple[StrictFloat, ...], FailFast()]
    mean_return: StrictFloat
    num_steps: Count
    num_episodes: Count | None = None
    events_score: StrictFloat | None = None
    details: dict[str, Any] | None = None
    outcome_score: Annotated[StrictFloat | None, Field(json_schema_extra={"deprecated": True})] = None
    """Deprecated: used only if no other score is present, and with a warning."""


class RolloutResponse(_Open):
    """The output of a rollout task: episodes of a policy and their metrics.

    `aex_outcomes.score_rollout` computes the rollout's score, also for old payloads that this model refuses.
    """

    run_id: str
    trajectories: Annotated[tuple[RolloutTrajectory, ...], FailFast()]
    """May be empty."""
    metrics: RolloutMetrics
