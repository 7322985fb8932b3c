"""The times that an agent reports, wherever it reports them and whatever it calls them."""

from dataclasses import dataclass

from aex_governance.rules.plain_number import plain_number
from aex_models.governance import ValidationRequest

DURATIONS = ("duration_ms", "latency_ms", "total_ms")
FIRST_BYTES = ("ttfb_ms", "time_to_first_byte_ms", "time_to_first_byte", "ttfb")
PROCESSINGS = ("processing_ms", "processing_time_ms", "processing_time")
_PLACES = ("execution_metadata", "extracted_metrics", "claimed_metrics")
"""A metric is computed from the metadata, and a claim repeats it: the first place that has a time tells it."""


@dataclass(frozen=True, slots=True)
class ReportedTime:
    """A time in milliseconds."""

    name: str
    place: str
    ms: float


def reported_time(request: ValidationRequest, names: tuple[str, ...]) -> ReportedTime | None:
    """The longest time that the first place tells under any of these names; None where no place tells one."""
    for place in _PLACES:
        told = getattr(request, place)
        times = [ReportedTime(name, place, ms) for name in names if (ms := plain_number(told.get(name))) is not None]
        if times:
            return max(times, key=lambda each: each.ms)
    return None
