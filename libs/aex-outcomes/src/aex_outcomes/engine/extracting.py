"""Running extractors: one that fails takes nothing from the others."""

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aex_models.criteria import SuccessCriterion
from aex_models.faults import Fault
from aex_models.results import CriterionError
from aex_outcomes.catalog import Catalog
from aex_outcomes.engine.planning import ExtractorRun, plan
from aex_outcomes.engine.readings import MISSING_METRIC, Reading
from aex_outcomes.engine.result_cache import ResultCache
from aex_outcomes.extractors.protocol import AgentFault, MetricExtractor, PlatformFault, Sourced, is_selective


@dataclass(frozen=True, slots=True)
class Extracted:
    """One reading for each criterion, in their order, and how long each extractor took, in seconds.

    An extractor that had nothing to do, or whose readings were known already, is not among them.
    """

    readings: Sequence[Reading]
    seconds: Mapping[str, float]
    """By section of the configuration."""


class Extraction:
    """Reads the metrics that criteria name from one candidate."""

    def __init__(self, catalog: Catalog, cache: ResultCache, watch: Callable[[], float]) -> None:
        """`watch`: seconds that never go back."""
        self._catalog = catalog
        self._cache = cache
        self._watch = watch

    async def extracted(
        self,
        criteria: Sequence[SuccessCriterion],
        task_input: Mapping[str, Any],
        output: Any,
        metadata: Mapping[str, Any],
    ) -> Extracted:
        """What is read of a candidate. Raises `UnknownMetric`, and nothing else."""
        planned = plan(criteria, task_input, self._catalog)
        readings, seconds = dict(planned.settled), dict[str, float]()
        for run in planned.runs:
            wanted = frozenset(criteria[position].metric for position in run.positions)
            found = await self._run(run, wanted, output, metadata, seconds)
            for position in run.positions:
                readings[position] = found.get(criteria[position].metric, MISSING_METRIC)
        return Extracted([readings[position] for position in range(len(criteria))], seconds)

    async def _run(
        self,
        run: ExtractorRun,
        wanted: frozenset[str],
        output: Any,
        metadata: Mapping[str, Any],
        seconds: dict[str, float],
    ) -> Mapping[str, Reading]:
        key = self._cache.key(run.section, sorted(wanted), run.task_input, output, metadata)
        known = self._cache.get(key)
        if known is not None:
            return known
        extractor, started = self._catalog.extractors[run.section], self._watch()
        try:
            found = await _extract(extractor, wanted, run.task_input, output, metadata)
        except (AgentFault, PlatformFault) as fault:
            return dict.fromkeys(wanted, _reading(fault))
        except Exception as error:  # noqa: BLE001 whatever an extractor raises is its own fault, and no other's
            return dict.fromkeys(wanted, _broken(run.section, error))
        finally:
            seconds[run.section] = seconds.get(run.section, 0.0) + self._watch() - started
        readings = {metric: _reading(found[metric]) for metric in wanted if metric in found}
        if not any(each.error and each.error.fault is Fault.PLATFORM for each in readings.values()):
            self._cache.put(key, readings)
        return readings


async def _extract(
    extractor: MetricExtractor,
    wanted: frozenset[str],
    task_input: Mapping[str, Any],
    output: Any,
    metadata: Mapping[str, Any],
) -> Mapping[str, Any]:
    if not type(extractor).__module__.startswith("aex_outcomes."):
        # Other people's extractors may write into what they are given; the next one must not see it.
        task_input, output, metadata = copy.deepcopy((dict(task_input), output, dict(metadata)))
    chosen = extractor.only(wanted) if is_selective(extractor) else extractor
    found = await chosen.extract(task_input, output, metadata)
    if not isinstance(found, Mapping):
        raise TypeError(f"extract returned {type(found).__name__}, not a mapping")
    return found


def _reading(value: Any) -> Reading:
    if isinstance(value, AgentFault):
        return Reading(error=CriterionError(code=value.code, message=value.message))
    if isinstance(value, PlatformFault):
        return Reading(error=CriterionError(code=value.code, message=value.message, fault=Fault.PLATFORM))
    if isinstance(value, Sourced):
        return Reading(value=_plain(value.value), provenance=value.provenance, secret=value.secret)
    return Reading(value=_plain(value))


def _plain(value: Any) -> Any:
    """numpy's numbers and booleans as Python's; everything else as it is."""
    return value.item() if type(value).__module__ == "numpy" and hasattr(value, "item") else value


def _broken(section: str, error: Exception) -> Reading:
    """The kind of exception alone: its text may quote evaluation data."""
    message = f"the extractor {section} failed: {type(error).__name__}"
    return Reading(error=CriterionError(code="extractor_failed", message=message, fault=Fault.PLATFORM))
