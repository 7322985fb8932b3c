"""How long a candidate took: as the agent says, and as the platform measured it."""

from collections.abc import Mapping
from typing import Any

from aex_models.catalog import Direction, MetricEntry
from aex_models.results import Provenance
from aex_models.thresholds import MetricType
from aex_outcomes.extractors.protocol import MetricValue

PLATFORM_LATENCY = "platform_latency_ms"
_SOURCES = {
    "latency_ms": "duration_ms",
    "time_to_first_byte": "ttfb_ms",
    "processing_time": "processing_ms",
    PLATFORM_LATENCY: PLATFORM_LATENCY,
}
"""Metric → key of the metadata."""


class LatencyExtractor:
    """Times in milliseconds, read from the metadata. What nobody reported is missing, never 0."""

    version = "1"

    async def extract(
        self,
        task_input: Mapping[str, Any],  # noqa: ARG002 part of the protocol
        task_output: Any,  # noqa: ARG002 part of the protocol
        metadata: Mapping[str, Any],
    ) -> dict[str, MetricValue]:
        """The times that the metadata have."""
        return {metric: metadata[key] for metric, key in _SOURCES.items() if metadata.get(key) is not None}

    def supported_metrics(self) -> list[str]:
        """The four times."""
        return list(_SOURCES)

    def catalog_entries(self) -> tuple[MetricEntry, ...]:
        """Three self-reported entries, and one measured by the platform."""
        return tuple(
            MetricEntry(
                name=name,
                unit="ms",
                range=(0, None),
                direction=Direction.LOWER,
                provenance=Provenance.MEASURED if name == PLATFORM_LATENCY else Provenance.SELF_REPORTED,
                metric_types=(MetricType.LATENCY, MetricType.NUMERIC),
            )
            for name in _SOURCES
        )
