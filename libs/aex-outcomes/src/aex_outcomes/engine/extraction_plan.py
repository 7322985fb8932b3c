"""Plan of the extractors' runs for a work's criteria, and the readings that runs return."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from aex_models.criteria import SuccessCriterion
from aex_models.evaluation import EVALUATION_KEYS
from aex_models.examination import Fault
from aex_models.results import CriterionError, Provenance
from aex_outcomes.catalog import Catalog, is_absent, supplied_evaluation


@dataclass(frozen=True, slots=True)
class Reading:
    """Extracted value of a criterion's metric, or its error; with neither, the metric is missing."""

    value: Any = None
    error: CriterionError | None = None
    provenance: Provenance | None = None
    """Provenance of this value; None for the one in the catalogue."""
    secret: bool = False
    """True if this value depends on evaluation data, whatever the catalogue says."""
    details: Any = None
    """Further figures of the metric, as a JSON value; None if there are none."""


@dataclass(frozen=True, slots=True)
class ExtractorRun:
    """Planned call of an extractor."""

    section: str
    """Section of the extractor in the configuration."""
    task_input: Mapping[str, Any]
    """Work's input with evaluation data."""
    positions: tuple[int, ...]
    """Positions of the criteria that the call serves."""
    name: str = ""
    """NAME of the criteria's metrics METRIC.NAME; empty for other metrics."""
    pointer: str | None = None
    """JSON pointer to the part of the output that the call measures; None for the extractor's own."""

    def to_extractor_metric(self, metric: str) -> str:
        """Return the name by which the extractor returns a criterion's metric: METRIC for METRIC.NAME."""
        return metric.removesuffix(f".{self.name}") if self.name else metric


class ExtractionPlan(NamedTuple):
    """Runs of extractors, and the errors of criteria that need no run."""

    runs: list[ExtractorRun]
    errors_by_position: dict[int, Reading]
    """Errors of criteria whose evaluation data are missing, which is the platform's fault."""


def plan_extraction(
    criteria: Sequence[SuccessCriterion], task_input: Mapping[str, Any], catalog: Catalog
) -> ExtractionPlan:
    """Plan the extractors' runs: one per extractor and NAME, and one per threshold with own data.

    Raises `UnknownMetric`.
    """
    errors: dict[int, Reading] = {}
    positions_by_run: dict[tuple[str, str], list[int]] = {}
    separate: list[ExtractorRun] = []
    for position, criterion in enumerate(criteria):
        section, split = catalog.sources[criterion.metric], catalog.sources.split_named(criterion.metric)
        name, root = (split.name, f"evaluation.named.{split.name}.") if split else ("", "evaluation.")
        own_input = _input_for_name(task_input, name)
        absent = [key for key in catalog.required_evaluation_keys(criterion) if is_absent(own_input.get(key))]
        supplied = supplied_evaluation(criterion)
        if absent:
            needed = ", ".join(f"{root}{key}" for key in absent)
            errors[position] = make_platform_error("evaluation_missing", f"{criterion.metric} needs {needed}")
        elif supplied:
            separate.append(_run(section, {**own_input, **supplied}, [position], name))
        else:
            positions_by_run.setdefault((section, name), []).append(position)
    joint = [
        _run(section, _input_for_name(task_input, name), positions, name)
        for (section, name), positions in positions_by_run.items()
    ]
    return ExtractionPlan([*joint, *separate], errors)


def _run(section: str, task_input: Mapping[str, Any], positions: Sequence[int], name: str) -> ExtractorRun:
    return ExtractorRun(section, task_input, tuple(positions), name, task_input.get("at") if name else None)


def _input_for_name(task_input: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return the input with named data in place of the evaluation data; unchanged without a name."""
    if not name:
        return task_input
    named = task_input.get("named")
    own = named.get(name) if isinstance(named, Mapping) else None
    others = {key: value for key, value in task_input.items() if key not in EVALUATION_KEYS and key != "at"}
    return {**others, **{key: value for key, value in (own or {}).items() if value is not None}}


def make_platform_error(code: str, message: str) -> Reading:
    """Return a reading with an error by the platform's fault."""
    return Reading(error=CriterionError(code=code, message=message, fault=Fault.PLATFORM))
