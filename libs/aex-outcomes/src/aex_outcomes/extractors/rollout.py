"""The figures of a rollout, recomputed from its steps where they are there."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from aex_models.catalog import Direction, MetricEntry
from aex_models.results import Provenance
from aex_models.rollout import RolloutResponse
from aex_models.thresholds import MetricType
from aex_outcomes.extractors.protocol import AgentFault, MetricValue
from aex_outcomes.extractors.text import checked_pointer
from aex_outcomes.pointer import MISSING, join, resolve
from aex_outcomes.rollouts.recounting import recount

_OWN_KEYS = frozenset({"trajectories", "metrics"})
"""What marks an output as a rollout itself, where none lies at the pointer."""
_MOST_SHOWN = 200


@dataclass(frozen=True, slots=True)
class RolloutExtractor:
    """Returns, steps and episodes of the `RolloutResponse` at `rollout_pointer`, or of the output that is one itself.

    All of it is self-reported: the steps are the agent's own too. An output without a rollout has no such metrics; one
    whose rollout has another shape is the agent's error, with the path of the first thing that is wrong.
    """

    rollout_pointer: str = "/rollout"
    version = "1"

    def __post_init__(self) -> None:
        checked_pointer(self.rollout_pointer)

    async def extract(
        self,
        task_input: Mapping[str, Any],  # noqa: ARG002 part of the protocol
        task_output: Any,
        metadata: Mapping[str, Any],  # noqa: ARG002 part of the protocol
    ) -> dict[str, MetricValue]:
        """The figures that are told. Raises `AgentFault` (`invalid_rollout`)."""
        place, found = self.rollout_pointer, resolve(task_output, self.rollout_pointer)
        if found is MISSING:
            place, found = "", task_output
            if not isinstance(found, Mapping) or not _OWN_KEYS & found.keys():
                return {}
        return _metrics(_validated(found, place))

    def supported_metrics(self) -> list[str]:
        """The names of the entries."""
        return [entry.name for entry in _ENTRIES]

    def catalog_entries(self) -> tuple[MetricEntry, ...]:
        """Six self-reported entries."""
        return _ENTRIES


def _validated(found: Any, place: str) -> RolloutResponse:
    try:
        return RolloutResponse.model_validate(found)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        path = (place + join(*first["loc"]))[:_MOST_SHOWN] or "the output"
        raise AgentFault("invalid_rollout", f"{path}: {first['msg']}") from None


def _metrics(rollout: RolloutResponse) -> dict[str, MetricValue]:
    """The steps' own figures before the claimed ones; what neither tells is left out."""
    counted, claimed = recount(rollout), rollout.metrics
    returns = claimed.episode_returns if counted.episode_returns is None else counted.episode_returns
    metrics: dict[str, MetricValue] = {
        "mean_return": claimed.mean_return if counted.mean_return is None else counted.mean_return,
        "num_steps": claimed.num_steps if counted.num_steps is None else counted.num_steps,
        "num_episodes": len(rollout.trajectories) or _claimed_episodes(rollout),
    }
    if returns:
        metrics |= {"episode_return_min": min(returns), "episode_return_max": max(returns)}
    if counted.consistent is not None:
        metrics["rollout_consistent"] = counted.consistent
    return metrics


def _claimed_episodes(rollout: RolloutResponse) -> int:
    """Of a rollout that shows none: trajectories may be left out."""
    claimed = rollout.metrics
    return len(claimed.episode_returns) if claimed.num_episodes is None else claimed.num_episodes


def _return(name: str) -> MetricEntry:
    return MetricEntry(
        name=name,
        unit="reward",
        direction=Direction.HIGHER,
        provenance=Provenance.SELF_REPORTED,
        metric_types=(MetricType.NUMERIC,),
    )


def _count(name: str, unit: str) -> MetricEntry:
    return MetricEntry(
        name=name,
        unit=unit,
        range=(0, None),
        provenance=Provenance.SELF_REPORTED,
        metric_types=(MetricType.COUNT, MetricType.NUMERIC),
    )


_ENTRIES = (
    _return("mean_return"),
    _return("episode_return_min"),
    _return("episode_return_max"),
    _count("num_steps", "steps"),
    _count("num_episodes", "episodes"),
    MetricEntry(
        name="rollout_consistent",
        unit="boolean",
        direction=Direction.HIGHER,
        provenance=Provenance.SELF_REPORTED,
        metric_types=(MetricType.BOOLEAN,),
    ),
)
