"""When a call is sent again, and after how long: pure decisions."""

from dataclasses import dataclass

from aex_client.errors import AexError


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Bounded repeats with growing pauses.

    A call is sent at most `attempts` times. The pause before the next attempt lies between half of and the whole of
    `first_pause_s` doubled for each attempt, at most `longest_pause_s`; it is never shorter than the service asks for
    with `Retry-After`. Where that is more than `longest_wait_s`, the call ends at once with the service's answer.
    """

    attempts: int = 5
    first_pause_s: float = 0.2
    longest_pause_s: float = 5.0
    longest_wait_s: float = 30.0

    def pause_s(self, attempt: int, error: AexError, jitter: float) -> float | None:
        """The pause after attempt `attempt` (from 1) failed with `error`; None: no more. `jitter` is in [0, 1)."""
        if not error.retryable or attempt >= self.attempts:
            return None
        asked = error.retry_after_s or 0.0
        if asked > self.longest_wait_s:
            return None
        backoff = min(self.first_pause_s * 2.0 ** min(attempt - 1, 30), self.longest_pause_s)
        return asked + backoff * jitter if asked else backoff * (1 + jitter) / 2


FIVE_ATTEMPTS = RetryPolicy()
"""How clients repeat unless told otherwise."""

NO_RETRIES = RetryPolicy(attempts=1)
"""One request for each call."""
