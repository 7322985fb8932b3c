"""Rollouts as trainers of reinforcement learning exchange them (spec file 4)."""

from typing import Annotated, Any
from urllib.parse import parse_qs, urlsplit

from pydantic import AfterValidator, ConfigDict, FailFast, Field
from pydantic_core import PydanticCustomError

from aex_models.frozen import Frozen, StrictBool, StrictFloat, StrictInt
from aex_models.numbers import MAX_SAFE_INTEGER

Count = Annotated[StrictInt, Field(ge=0, le=MAX_SAFE_INTEGER)]


def parse_correlation_id(url: str) -> str | None:
    """Return the `cid` in an inference URL's query; None for a text that is no URL or has none."""
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
    """Rollout payloads come from other people's code: fields beyond ours are kept, not refused."""

    model_config = ConfigDict(extra="allow")


class RolloutStep(_Open):
    """A step of an episode."""

    obs: Any
    """The policy's observation; `{}` if not recorded."""
    action: Any
    """The policy's action; `{}` if not recorded."""
    reward: StrictFloat | None = None
    """Reward of the step; None or absent if there is none or it is unknown."""
    done: StrictBool | None = None
    info: dict[str, Any] | None = None


class RolloutTrajectory(_Open):
    """An episode."""

    env_id: str
    policy_id: str
    inference_url: Annotated[str, Field(max_length=8_192), AfterValidator(_check_correlation_id)]
    """Carries the correlation id as `?cid=`."""
    steps: Annotated[tuple[RolloutStep, ...], FailFast()]
    """May be empty."""
    length: Count
    """The number of steps in the episode, also of those not recorded."""


class RolloutMetrics(_Open):
    """The figures that a trainer reads."""

    episode_returns: Annotated[tuple[StrictFloat, ...], FailFast()]
    mean_return: StrictFloat
    num_steps: Count
    num_episodes: Count | None = None
    events_score: StrictFloat | None = None
    details: dict[str, Any] | None = None
    outcome_score: Annotated[StrictFloat | None, Field(json_schema_extra={"deprecated": True})] = None
    """Deprecated: read last, and with a warning."""


class RolloutResponse(_Open):
    """The output of a rollout task.

    Its canonical score: `aex_outcomes.score_rollout`, which also reads old payloads that this model refuses.
    """

    run_id: str
    trajectories: Annotated[tuple[RolloutTrajectory, ...], FailFast()]
    """May be empty."""
    metrics: RolloutMetrics
