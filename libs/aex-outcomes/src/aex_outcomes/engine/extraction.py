"""Extraction of metrics from a candidate: runs of extractors, with a cache of their results."""

import copy
import hashlib
import json
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from aex_models.criteria import SuccessCriterion
from aex_models.examination import Fault
from aex_models.results import CriterionError
from aex_outcomes.catalog import Catalog
from aex_outcomes.engine.criteria import to_flag_if_boolean
from aex_outcomes.engine.extraction_plan import ExtractorRun, Reading, make_platform_error, plan_extraction
from aex_outcomes.extractors.protocol import (
    AgentFault,
    Detailed,
    MetricExtractor,
    PlatformFault,
    Sourced,
    relocate_extractor,
    restrict_to_metrics_if_supported,
)

_MAX_CACHED = 256


class ResultCache:
    """Cache of up to 256 runs' readings by a digest of their input, for `ttl_s` seconds."""

    def __init__(self, ttl_s: float, monotonic: Callable[[], float]) -> None:
        self._ttl_s = ttl_s
        self._monotonic = monotonic
        self._entries: OrderedDict[str, tuple[float, Mapping[str, Any]]] = OrderedDict()

    def make_key(self, *parts: Any) -> str | None:
        """Return a digest of the parts as a key; None if caching is off or a part is not JSON."""
        if not self._ttl_s:
            return None
        try:
            return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
        except (TypeError, ValueError, RecursionError):
            return None

    def get(self, key: str | None) -> Mapping[str, Any] | None:
        """Return the readings stored under the key; None if there are none, or only older ones than `ttl_s`."""
        entry = self._entries.get(key) if key else None
        return entry[1] if entry is not None and self._monotonic() - entry[0] < self._ttl_s else None

    def put(self, key: str | None, readings: Mapping[str, Any]) -> None:
        """Store readings under the key, and drop the oldest beyond the limit; does nothing if the key is None."""
        if key is None:
            return
        self._entries[key] = (self._monotonic(), readings)
        self._entries.move_to_end(key)
        if len(self._entries) > _MAX_CACHED:
            self._entries.popitem(last=False)


@dataclass(frozen=True, slots=True)
class ExtractionResult:
    """Readings of all criteria in their order, and the seconds that each section's extractor took."""

    readings: Sequence[Reading]
    seconds: Mapping[str, float]


class Extraction:
    """Extraction of the metrics that criteria name, by the catalogue's extractors."""

    def __init__(self, catalog: Catalog, cache: ResultCache, watch: Callable[[], float]) -> None:
        """Keep the parts; `watch` returns the seconds of a monotonic clock."""
        self._catalog = catalog
        self._cache = cache
        self._watch = watch

    async def extract(
        self,
        criteria: Sequence[SuccessCriterion],
        task_input: Mapping[str, Any],
        output: Any,
        metadata: Mapping[str, Any],
        contract_id: str,
    ) -> ExtractionResult:
        """Run the extractors that the criteria need, and return their readings, from the cache where possible.

        Readings are cached for one contract alone. Else a consumer could guess an output by trials: the right guess
        would be faster. An exception of an extractor becomes the error of its metrics. Raises only `UnknownMetric`.
        """
        runs, readings = plan_extraction(criteria, task_input, self._catalog)
        seconds: dict[str, float] = {}
        candidate_key = self._cache.make_key(contract_id, output, metadata)  # once: an output may have megabytes
        for run in runs:
            names = {position: run.to_extractor_metric(criteria[position].metric) for position in run.positions}
            metrics = frozenset(names.values())
            target = [run.section, run.pointer, sorted(metrics)]
            key = candidate_key and self._cache.make_key(candidate_key, target, run.task_input)
            found = self._cache.get(key)
            if found is None:
                found = await self._run(run, metrics, output, metadata, seconds)
                if not any(each.error and each.error.fault is Fault.PLATFORM for each in found.values()):
                    self._cache.put(key, found)
            for position, metric in names.items():
                reading, entry = found.get(metric, Reading()), self._catalog.entry(criteria[position].metric)
                readings[position] = replace(
                    reading, value=to_flag_if_boolean(criteria[position], reading.value, entry)
                )
        return ExtractionResult([readings[position] for position in range(len(criteria))], seconds)

    async def _run(
        self,
        run: ExtractorRun,
        metrics: frozenset[str],
        output: Any,
        metadata: Mapping[str, Any],
        seconds: dict[str, float],
    ) -> Mapping[str, Reading]:
        started = self._watch()
        try:
            extractor = relocate_extractor(self._catalog.extractors[run.section], run.pointer)
            values = await _extract(extractor, metrics, run.task_input, output, metadata)
        except (AgentFault, PlatformFault) as fault:
            return dict.fromkeys(metrics, _to_reading(fault))
        except Exception as error:  # noqa: BLE001 an extractor may raise anything, and affects no other
            # The exception's type alone: its text may quote evaluation data.
            message = f"the extractor {run.section} failed: {type(error).__name__}"
            return dict.fromkeys(metrics, make_platform_error("extractor_failed", message))
        finally:
            seconds[run.section] = seconds.get(run.section, 0.0) + self._watch() - started
        return {metric: _to_reading(values[metric]) for metric in metrics if metric in values}


async def _extract(
    extractor: MetricExtractor,
    metrics: frozenset[str],
    task_input: Mapping[str, Any],
    output: Any,
    metadata: Mapping[str, Any],
) -> Mapping[str, Any]:
    if not type(extractor).__module__.startswith("aex_outcomes."):
        # Foreign extractors may modify their arguments; the next extractor must not see that.
        task_input, output, metadata = copy.deepcopy((dict(task_input), output, dict(metadata)))
    found = await restrict_to_metrics_if_supported(extractor, metrics).extract(task_input, output, metadata)
    if not isinstance(found, Mapping):
        raise TypeError(f"extract returned {type(found).__name__}, not a mapping")
    return found


def _to_reading(value: Any) -> Reading:
    if isinstance(value, AgentFault):
        return Reading(error=CriterionError(code=value.code, message=value.message))
    if isinstance(value, PlatformFault):
        return make_platform_error(value.code, value.message)
    if isinstance(value, Detailed):
        return replace(_to_reading(value.value), details=value.details)
    if isinstance(value, Sourced):
        return Reading(value=_to_python(value.value), provenance=value.provenance, secret=value.secret)
    return Reading(value=_to_python(value))


def _to_python(value: Any) -> Any:
    """Return a number or boolean of numpy as Python's; other values unchanged."""
    return value.item() if type(value).__module__ == "numpy" and hasattr(value, "item") else value
