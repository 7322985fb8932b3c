"""The low watermark of a sweep: where its next query of an index of instants can start. Pure.

A sweep deletes the first entries of an index. Firestore keeps deleted entries for a while, and a query without a lower
bound reads them all.
"""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from aex_runtime.clock import epoch_micros
from aex_runtime.store.port import Bound

MARGIN = timedelta(seconds=20)
"""The most by which a row's instant can precede its commit: a transaction's 10 s, and clocks 2 s apart."""
FULL_SCAN_INTERVAL = timedelta(minutes=1)
"""Interval of queries without a lower bound, which find rows that were committed later than that."""
_NEVER = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class LowWatermark:
    """The knowledge of a sweeper about the start of its index. `LowWatermark()` knows nothing.

    Each sweep calls `start`, queries within `bounds`, then calls `advance`. Requires that no row's instant precedes its
    writer's `now`.
    """

    watermark: datetime | None = None
    """Instant before which there is no row; None if unknown."""
    scan_at: datetime = _NEVER
    """Start of the last query."""
    full_scan_at: datetime = _NEVER
    """Start of the last query without a lower bound."""
    earliest_write: datetime | None = None
    """The earliest instant written in this process since the last query started."""

    @property
    def bounds(self) -> tuple[Bound, ...]:
        """The lower bound of the query; empty if it reads the index from its start."""
        return () if self.watermark is None else (Bound(">=", epoch_micros(self.watermark)),)

    def start(self, now: datetime) -> "LowWatermark":
        """Return the state for a new query at `now`.

        The query is without a bound once a minute, and after the clock was set back.
        """
        if now < self.scan_at or now - self.full_scan_at >= FULL_SCAN_INTERVAL:
            return LowWatermark(scan_at=now, full_scan_at=now)
        return replace(self, scan_at=now, earliest_write=None)

    def advance(self, earliest_remaining: datetime) -> "LowWatermark":
        """Return the state after a query and deletion that leave no row before `earliest_remaining`.

        The new watermark is `earliest_remaining`, or an earlier instant at which rows may have been committed since.
        """
        limits = (earliest_remaining, self.scan_at - MARGIN)
        return replace(self, watermark=min(limits if self.earliest_write is None else (*limits, self.earliest_write)))

    def note_write(self, row_instant: datetime) -> "LowWatermark":
        """Return the state after this process has committed a row with this instant, during a query or not."""
        earliest = row_instant if self.earliest_write is None else min(row_instant, self.earliest_write)
        watermark = None if self.watermark is None else min(self.watermark, row_instant)
        return replace(self, earliest_write=earliest, watermark=watermark)
