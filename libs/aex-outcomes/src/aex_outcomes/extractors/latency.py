"""Extractor of a candidate's durations, as the agent reports and the platform measured them."""

from collections.abc import Mapping
from typing import Any

from aex_models.catalog import Direction, MetricEntry
from aex_models.results import Provenance
from aex_models.thresholds import MetricType
from aex_outcomes.extractors.protocol import Metrics

PLATFORM_LATENCY = "platform_latency_ms"
_SOURCES = {
    "latency_ms": "duration_ms",
    "time_to_first_byte": "ttfb_ms",
    "processing_time": "processing_ms",
    PLATFORM_LATENCY: PLATFORM_LATENCY,
}
"""Keys of the metadata by metric."""
_MEANINGS = {
    "latency_ms": "Duration of the whole task, as the agent reports it in `duration_ms`.",
    "time_to_first_byte": "Time until the output began, as the agent reports it in `ttfb_ms`.",
    "processing_time": "Time of processing alone, as the agent reports it in `processing_ms`.",
    PLATFORM_LATENCY: "Time for which the contract has waited for this agent in all, as the platform measured it.",
}


class LatencyExtractor:
    """Extractor of durations in milliseconds from the metadata; an unreported one is missing, not 0."""

    version = "1"

    async def extract(self, task_input: Mapping[str, Any], task_output: Any, metadata: Mapping[str, Any]) -> Metrics:
        return {metric: metadata[key] for metric, key in _SOURCES.items() if metadata.get(key) is not None}

    def supported_metrics(self) -> list[str]:
        return list(_SOURCES)

    def catalog_entries(self) -> tuple[MetricEntry, ...]:
        return tuple(
            MetricEntry(
                name=name,
                description=_MEANINGS[name],
                unit="ms",
                range=(0, None),
                direction=Direction.LOWER,
                provenance=Provenance.MEASURED if name == PLATFORM_LATENCY else Provenance.SELF_REPORTED,
                metric_types=(MetricType.LATENCY, MetricType.NUMERIC),
            )
            for name in _SOURCES
        )
