"""Extractor of a rollout's figures, which are recomputed from its steps if it has any."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from aex_models.catalog import Direction, MetricEntry
from aex_models.results import Provenance
from aex_models.rollout import RolloutResponse
from aex_models.thresholds import MetricType
from aex_outcomes.extractors.protocol import AgentFault, Metrics
from aex_outcomes.extractors.text_quality import require_json_pointer
from aex_outcomes.json_values import MISSING, join_pointer, resolve_pointer
from aex_outcomes.rollouts import recount_rollout

_OWN_KEYS = frozenset({"trajectories", "metrics"})
"""Keys by which an output is recognised as a rollout itself."""
_MAX_PATH = 200


@dataclass(frozen=True, slots=True)
class RolloutExtractor:
    """Extractor of returns, steps and episodes of a `RolloutResponse` at `rollout_pointer` of the output.

    If there is none, the output itself may be one; another output has no such metrics. All figures are self-reported,
    because the steps are the agent's own.
    """

    rollout_pointer: str = "/rollout"
    """JSON pointer to the rollout in the output."""
    version = "1"

    def __post_init__(self) -> None:
        require_json_pointer(self.rollout_pointer)

    async def extract(self, task_input: Mapping[str, Any], task_output: Any, metadata: Mapping[str, Any]) -> Metrics:
        """Return the figures of the rollout; empty if the output has no rollout.

        Raises `AgentFault` with the code `invalid_rollout`, and the path of the first problem, for a malformed one.
        """
        pointer, found = self.rollout_pointer, resolve_pointer(task_output, self.rollout_pointer)
        if found is MISSING:
            pointer, found = "", task_output
            if not isinstance(found, Mapping) or not _OWN_KEYS & found.keys():
                return {}
        try:
            return _metrics(RolloutResponse.model_validate(found))
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            path = (pointer + join_pointer(*first["loc"]))[:_MAX_PATH] or "the output"
            raise AgentFault("invalid_rollout", f"{path}: {first['msg']}") from None

    def supported_metrics(self) -> list[str]:
        return [entry.name for entry in _ENTRIES]

    def catalog_entries(self) -> tuple[MetricEntry, ...]:
        return _ENTRIES


def _metrics(rollout: RolloutResponse) -> Metrics:
    """Return the figures recomputed from the steps, or the claimed ones where steps do not determine them."""
    counted, claimed = recount_rollout(rollout), rollout.metrics
    returns = claimed.episode_returns if counted.episode_returns is None else counted.episode_returns
    episodes = len(claimed.episode_returns) if claimed.num_episodes is None else claimed.num_episodes
    metrics: Metrics = {
        "mean_return": claimed.mean_return if counted.mean_return is None else counted.mean_return,
        "num_steps": claimed.num_steps if counted.num_steps is None else counted.num_steps,
        "num_episodes": len(rollout.trajectories) or episodes,
    }
    if returns:
        metrics |= {"episode_return_min": min(returns), "episode_return_max": max(returns)}
    if counted.consistent is not None:
        metrics["rollout_consistent"] = counted.consistent
    return metrics


def _entry(name: str, unit: str, description: str, *types: MetricType) -> MetricEntry:
    """Return a self-reported entry, for which more is better unless it is a count."""
    limits: dict[str, Any] = {"range": (0, None)} if MetricType.COUNT in types else {"direction": Direction.HIGHER}
    return MetricEntry(
        name=name,
        description=description,
        unit=unit,
        provenance=Provenance.SELF_REPORTED,
        metric_types=types,
        **limits,
    )


_COUNTED = (MetricType.COUNT, MetricType.NUMERIC)
_ENTRIES = (
    _entry("mean_return", "reward", "Mean return of the episodes.", MetricType.NUMERIC),
    _entry("episode_return_min", "reward", "Least return of an episode.", MetricType.NUMERIC),
    _entry("episode_return_max", "reward", "Greatest return of an episode.", MetricType.NUMERIC),
    _entry("num_steps", "steps", "Number of steps of all episodes.", *_COUNTED),
    _entry("num_episodes", "episodes", "Number of episodes.", *_COUNTED),
    _entry(
        "rollout_consistent",
        "boolean",
        "True if all reported figures equal those of the steps; absent where a figure cannot be recomputed.",
        MetricType.BOOLEAN,
    ),
)
