"""How long to wait before trying again: exponential, bounded, jittered."""

from dataclasses import dataclass
from datetime import timedelta

_MAX_DOUBLINGS = 32


@dataclass(frozen=True, slots=True)
class Backoff:
    """Waits that double from `first` up to `cap`."""

    first: timedelta
    cap: timedelta

    def delay(self, failures: int, jitter: float) -> timedelta:
        """The wait after that many failures in a row (1 is the first), `jitter` in [0, 1) spreading it.

        Between half and all of min(cap, first · 2^(failures−1)): never 0, so that a retry is never at once.
        """
        doublings = min(max(failures, 1) - 1, _MAX_DOUBLINGS)
        whole = min(self.cap, self.first * 2**doublings) if self.first < self.cap else self.cap
        return whole * (0.5 + jitter / 2)
