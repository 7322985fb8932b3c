"""How far a sweep has seen its index clean, so that its next look need not begin at the beginning. Pure.

A sweep deletes at the head of an index. Firestore keeps deleted entries for a while, and a query that begins at the
beginning walks over them all.
"""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from aex_runtime.clock import epoch_micros
from aex_runtime.store.port import Bound

MARGIN = timedelta(seconds=20)
"""How old a moment may be when it is committed: the reads and the commit (10 s) of a transaction, clocks 2 s apart."""
FULL_EVERY = timedelta(minutes=1)
"""What came later still is found by a look from the beginning, this often."""
_NEVER = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class SeenClean:
    """What one sweeper knows of an index of moments, from the time it takes the lease (begin with `SeenClean()`).

    Relies on rows being written with moments no earlier than their writer's `now`. For each look: `begun`, a query
    within `bounds`, then `reached`.
    """

    floor: datetime | None = None
    """No row is known to be before this. None: nothing is known."""
    looked_at: datetime = _NEVER
    full_at: datetime = _NEVER
    """When a look last began at the beginning."""
    told: datetime | None = None
    """The earliest moment told of since the last look began."""

    @property
    def bounds(self) -> tuple[Bound, ...]:
        """Where a look begins."""
        return () if self.floor is None else (Bound(">=", epoch_micros(self.floor)),)

    def begun(self, now: datetime) -> "SeenClean":
        """A look begins: from the beginning where it is time for that, or where the clock was set back."""
        if now < self.looked_at or now - self.full_at >= FULL_EVERY:
            return SeenClean(looked_at=now, full_at=now)
        return replace(self, looked_at=now, told=None)

    def reached(self, moment: datetime) -> "SeenClean":
        """The look found nothing before `moment`, or nothing that is left: the first row it leaves, else its end."""
        known = (moment, self.looked_at - MARGIN)
        return replace(self, floor=min(known if self.told is None else (*known, self.told)))

    def told_of(self, moment: datetime) -> "SeenClean":
        """A row was committed in this process, perhaps during a look, perhaps long after its moment."""
        told = moment if self.told is None else min(moment, self.told)
        return replace(self, told=told, floor=None if self.floor is None else min(self.floor, moment))
