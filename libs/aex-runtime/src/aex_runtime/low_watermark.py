"""The low watermark of a sweep: the start of its next query in an index of moments. Pure.

A sweep deletes at the head of an index. Firestore keeps deleted entries for a while, and a query without a lower bound
reads them all.
"""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from aex_runtime.clock import epoch_micros
from aex_runtime.store.port import Bound

MARGIN = timedelta(seconds=20)
"""The largest age of a moment at its commit: reads and commit (10 s) of a transaction, clocks 2 s apart."""
FULL_SCAN_INTERVAL = timedelta(minutes=1)
"""Interval of queries without a lower bound, which find rows that were committed later."""
_NEVER = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class LowWatermark:
    """The state of a sweeper since it got its lease, when it is `LowWatermark()`.

    Requires rows whose moments are no earlier than their writer's `now`. Each sweep calls `start`, queries within
    `bounds`, then calls `advance`.
    """

    watermark: datetime | None = None
    """Moment before which no row is known; None if unknown."""
    scan_at: datetime = _NEVER
    full_scan_at: datetime = _NEVER
    earliest_write: datetime | None = None
    """The earliest moment noted since the last query started."""

    @property
    def bounds(self) -> tuple[Bound, ...]:
        """The lower bound of the query, if there is one."""
        return () if self.watermark is None else (Bound(">=", epoch_micros(self.watermark)),)

    def start(self, now: datetime) -> "LowWatermark":
        """Return the state for a new query; unbounded once a minute, and after the clock was set back."""
        if now < self.scan_at or now - self.full_scan_at >= FULL_SCAN_INTERVAL:
            return LowWatermark(scan_at=now, full_scan_at=now)
        return replace(self, scan_at=now, earliest_write=None)

    def advance(self, moment: datetime) -> "LowWatermark":
        """Return the state after a query that leaves no row before `moment`."""
        limits = (moment, self.scan_at - MARGIN)
        return replace(self, watermark=min(limits if self.earliest_write is None else (*limits, self.earliest_write)))

    def note_write(self, moment: datetime) -> "LowWatermark":
        """Return the state after a commit in this process, at any time."""
        earliest = moment if self.earliest_write is None else min(moment, self.earliest_write)
        watermark = None if self.watermark is None else min(self.watermark, moment)
        return replace(self, earliest_write=earliest, watermark=watermark)
