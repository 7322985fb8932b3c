"""Delays between retries: they double up to a limit and vary by jitter."""

from dataclasses import dataclass
from datetime import timedelta

_MAX_DOUBLINGS = 32


@dataclass(frozen=True, slots=True)
class Backoff:
    """Retry delays that start at `first` and double up to `cap`."""

    first: timedelta
    cap: timedelta

    def delay(self, failures: int, jitter: float) -> timedelta:
        """Return the delay before the next attempt, after `failures` consecutive failures (from 1).

        It is min(cap, first · 2^(failures−1)) times a factor from 0.5 to 1, which `jitter` in [0, 1) sets.
        """
        doublings = min(max(failures, 1) - 1, _MAX_DOUBLINGS)
        full = min(self.cap, self.first * 2**doublings) if self.first < self.cap else self.cap
        return full * (0.5 + jitter / 2)
