"""Limits of one process: replays, attempts in flight, and streams of contract events."""

import math
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import datetime

from aex_runtime.errors import RateLimited
from aex_runtime.http.auth import Principal
from aex_runtime.http.limits import ConcurrencyLimiter, TokenBuckets
from aex_verification.notifier import Notifier

_EVENTS_POLL_S = 1.0
"""Pause between reads for events that another instance has written."""


class ReplayLimit:
    """Token bucket per contract, for candidates that are known or follow an invalid one.

    `burst` candidates at once, `per_s` continuously; `max_contracts` buckets are kept.
    """

    def __init__(self, burst: int = 300, per_s: float = 5.0, max_contracts: int = 10_000) -> None:
        self._buckets = TokenBuckets[str](per_s, burst, max_contracts)

    def take(self, contract_id: str, now: datetime, tokens: float = 1.0) -> None:
        """Take tokens for one candidate. Raises `RateLimited` where too few are left."""
        if wait_s := self._buckets.try_take(contract_id, now.timestamp(), tokens):
            raise RateLimited(
                "too_many_replays",
                "candidates that are known, or that follow an invalid one, were posted too often: "
                "the verdict of a known one stands, GET the attempt instead",
                retry_after_s=math.ceil(wait_s),
            )


class InFlightAttempts(set[str]):
    """Attempts that this process works on; no more than its handlers of events and timers."""

    @contextmanager
    def track(self, attempt_id: str) -> Iterator[None]:
        """Count the attempt as in flight until the block ends."""
        self.add(attempt_id)
        try:
            yield
        finally:
            self.discard(attempt_id)


@dataclass(frozen=True, slots=True)
class StreamBounds:
    """Bounds of event streams: how many at once of one principal and in total, and their times in seconds.

    `heartbeat_s` is the longest pause without a byte. After `lifetime_s` a reader has to reconnect.
    """

    per_principal: int = 50
    total: int = 500
    heartbeat_s: float = 15.0
    lifetime_s: float = 240.0

    def lifetime_of(self, reader: Principal, now: datetime, jitter: float) -> float:
        """Return how many seconds a stream may last: never longer than the reader's token.

        `jitter` in [0, 1) shortens it by up to a quarter, so that readers do not reconnect together.
        """
        lifetime_s = self.lifetime_s * (1 - jitter / 4)
        left_s = lifetime_s if reader.expires_at is None else (reader.expires_at - now).total_seconds()
        return max(min(lifetime_s, left_s), 0.0)


class EventSubscribers(Notifier):
    """Open streams of contract events, woken by contract id after the commit that wrote events."""

    def __init__(self, bounds: StreamBounds | None = None) -> None:
        self.bounds = bounds or StreamBounds()
        super().__init__(self.bounds.total, _EVENTS_POLL_S)
        self._limiter = ConcurrencyLimiter(self.bounds.per_principal, self.bounds.total, "streams", "too_many_streams")

    async def count(self) -> float:
        return self._limiter.in_use

    def admit(self, reader: Principal) -> AbstractContextManager[None]:
        """Count a stream until the block ends. Raises `RateLimited` and `TemporarilyUnavailable`."""
        return self._limiter.acquire(f"{reader.role.value}:{reader.id}")
