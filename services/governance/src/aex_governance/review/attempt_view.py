"""What the log says of the attempt that is held. Pure: a record in, figures to render out."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aex_governance.review.figures import Figure, figure
from aex_governance.review.visible import Visible, visible
from aex_governance.rules.projection.records import ValidationRecord

_TIMES = {"duration_ms": "Duration", "ttfb_ms": "Time to first byte", "processing_ms": "Processing"}


@dataclass(frozen=True, slots=True)
class MetricRow:
    """A metric as it was extracted and as it was claimed; None where it was not."""

    name: Visible
    extracted: Figure | None
    claimed: Figure | None
    difference: str
    """Of the claim from what was extracted, in percent of it; empty where there is nothing to compare."""


@dataclass(frozen=True, slots=True)
class TimeRow:
    """A time as the agent reports it beside what the platform measured, in ms; None where it measures no such time."""

    name: str
    reported: Figure
    measured: Figure | None


@dataclass(frozen=True, slots=True)
class AttemptView:
    """An attempt. `reported`: what the agent reports beside times; `computed`: what verification computed."""

    record: ValidationRecord
    domain: Visible
    metrics: tuple[MetricRow, ...]
    times: tuple[TimeRow, ...]
    reported: Figure | None
    computed: Mapping[str, Figure]
    earlier: Figure | None


def attempt_view(record: ValidationRecord) -> AttemptView:
    """The page's content."""
    request = record.request
    others = {name: each for name, each in request.execution_metadata.items() if name not in _TIMES}
    return AttemptView(
        record=record,
        domain=visible(request.domain),
        metrics=_metrics(request.extracted_metrics, request.claimed_metrics),
        times=_times(request.execution_metadata, request.platform_latency_ms),
        reported=figure(others) if others else None,
        computed=_computed(record),
        earlier=figure([each.model_dump(mode="json") for each in request.previous_attempts])
        if request.previous_attempts
        else None,
    )


def _times(reported: Mapping[str, Any], measured_ms: float | None) -> tuple[TimeRow, ...]:
    """The platform measures how long the agent had the work: what its duration is held against."""
    return tuple(
        TimeRow(title, figure(reported.get(name)), figure(measured_ms) if name == "duration_ms" else None)
        for name, title in _TIMES.items()
    )


def _computed(record: ValidationRecord) -> dict[str, Figure]:
    request = record.request
    parts = {
        "Likeness to the reference": request.reference_similarity,
        "Required keywords": request.keyword_stats,
        "Science": request.science,
    }
    return {name: figure(part.model_dump(mode="json")) for name, part in parts.items() if part is not None}


def _metrics(
    extracted: Mapping[str, bool | float | int | None], claimed: Mapping[str, bool | float | int]
) -> tuple[MetricRow, ...]:
    return tuple(
        MetricRow(
            name=visible(name),
            extracted=figure(extracted[name]) if name in extracted else None,
            claimed=figure(claimed[name]) if name in claimed else None,
            difference=_difference(extracted.get(name), claimed.get(name)),
        )
        for name in sorted({*extracted, *claimed})
    )


def _difference(extracted: float | None, claimed: float | None) -> str:
    """Such as `+23.4 %`."""
    compared = extracted is not None and claimed is not None and not isinstance(extracted, bool) and extracted != 0
    if not compared or extracted is None or claimed is None or isinstance(claimed, bool):
        return ""
    return f"{(claimed - extracted) / abs(extracted):+.1%}".replace("%", " %")
