"""Which extractors run, on which input, for which metrics."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aex_models.criteria import SuccessCriterion
from aex_models.faults import Fault
from aex_models.results import CriterionError
from aex_outcomes.catalog import Catalog, is_absent, supplied_by
from aex_outcomes.engine.readings import Reading


@dataclass(frozen=True, slots=True)
class ExtractorRun:
    """One call of one extractor, for the criteria at `positions`."""

    section: str
    task_input: Mapping[str, Any]
    positions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """The calls, and what is known without any."""

    runs: tuple[ExtractorRun, ...]
    settled: Mapping[int, Reading]


def plan(criteria: Sequence[SuccessCriterion], task_input: Mapping[str, Any], catalog: Catalog) -> Plan:
    """One call for all criteria of an extractor; a further one for each threshold that brings its own terms or schema.

    Evaluation data that a metric needs and that is absent are refused at submission; should they be absent all
    the same, the verifier cannot tell, and that is not the agent's fault. Raises `UnknownMetric`.
    """
    settled: dict[int, Reading] = {}
    shared: dict[str, list[int]] = {}
    own: list[ExtractorRun] = []
    for position, criterion in enumerate(criteria):
        absent = [key for key in catalog.needs(criterion) if is_absent(task_input.get(key))]
        section = catalog.sources[criterion.metric]
        brought = supplied_by(criterion)
        if absent:
            settled[position] = _cannot_tell(criterion.metric, absent)
        elif brought:
            own.append(ExtractorRun(section, {**task_input, **brought}, (position,)))
        else:
            shared.setdefault(section, []).append(position)
    together = [ExtractorRun(section, task_input, tuple(positions)) for section, positions in shared.items()]
    return Plan((*together, *own), settled)


def _cannot_tell(metric: str, absent: Sequence[str]) -> Reading:
    message = f"{metric} needs {', '.join(f'evaluation.{key}' for key in absent)}"
    return Reading(error=CriterionError(code="evaluation_missing", message=message, fault=Fault.PLATFORM))
