"""Delays between retries: exponential, bounded, with jitter."""

from dataclasses import dataclass
from datetime import timedelta

_MAX_DOUBLINGS = 32


@dataclass(frozen=True, slots=True)
class Backoff:
    """Waits that double from `first` up to `cap`."""

    first: timedelta
    cap: timedelta

    def delay(self, failures: int, jitter: float) -> timedelta:
        """Return the wait after that many failures in a row (1 is the first), `jitter` in [0, 1) spreading it.

        Between half and all of min(cap, first · 2^(failures−1)): never 0, so that a retry is never at once.
        """
        doublings = min(max(failures, 1) - 1, _MAX_DOUBLINGS)
        full = min(self.cap, self.first * 2**doublings) if self.first < self.cap else self.cap
        return full * (0.5 + jitter / 2)
