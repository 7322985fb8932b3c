"""Limits of one process: repeated candidates, attempts in progress, and streams of contract events."""

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
"""Seconds between reads for events that another process has written."""


class ReplayLimit:
    """Rate limit per contract for candidates that are known or follow an invalid one.

    `burst` candidates are allowed at once and `per_s` continuously. State is kept for up to `max_contracts` contracts.
    """

    def __init__(self, burst: int = 300, per_s: float = 5.0, max_contracts: int = 10_000) -> None:
        self._buckets = TokenBuckets[str](per_s, burst, max_contracts)

    def take_tokens_or_raise(self, contract_id: str, now: datetime, tokens: float = 1.0) -> None:
        """Take tokens for one candidate of the contract. Raises `RateLimited` if too few are left."""
        if wait_s := self._buckets.take_or_get_wait_s(contract_id, now.timestamp(), tokens):
            raise RateLimited(
                "too_many_replays",
                "candidates that are known, or that follow an invalid one, were posted too often: "
                "the verdict of a known one stands, GET the attempt instead",
                retry_after_s=math.ceil(wait_s),
            )


class InFlightAttempts(set[str]):
    """Ids of the attempts that this process is verifying."""

    @contextmanager
    def track(self, attempt_id: str) -> Iterator[None]:
        """Keep the attempt in the set during the block."""
        self.add(attempt_id)
        try:
            yield
        finally:
            self.discard(attempt_id)


@dataclass(frozen=True, slots=True)
class StreamBounds:
    """Limits of event streams: number per principal and in total, and times in seconds."""

    per_principal: int = 50
    total: int = 500
    heartbeat_s: float = 15.0
    """Longest time without a byte on a stream."""
    lifetime_s: float = 240.0
    """Time after which a stream ends and its reader has to reconnect."""

    def compute_lifetime_s(self, reader: Principal, now: datetime, jitter: float) -> float:
        """Return how many seconds a stream may last, at most as long as the reader's token is valid.

        `jitter` in [0, 1) shortens it by up to a quarter, so that readers do not reconnect together.
        """
        lifetime_s = self.lifetime_s * (1 - jitter / 4)
        left_s = lifetime_s if reader.expires_at is None else (reader.expires_at - now).total_seconds()
        return max(min(lifetime_s, left_s), 0.0)


class EventSubscribers(Notifier):
    """Open streams of contract events, with their limits.

    `wake` with a contract's id makes the contract's streams read new events.
    """

    def __init__(self, bounds: StreamBounds | None = None) -> None:
        self.bounds = bounds or StreamBounds()
        super().__init__(self.bounds.total, _EVENTS_POLL_S)
        self._limiter = ConcurrencyLimiter(self.bounds.per_principal, self.bounds.total, "streams", "too_many_streams")

    async def count(self) -> float:
        """Return the number of open streams, for a gauge."""
        return self._limiter.in_use

    def count_stream(self, reader: Principal) -> AbstractContextManager[None]:
        """Count a stream of the reader during the block. Raises `RateLimited` or `TemporarilyUnavailable`."""
        return self._limiter.acquire(f"{reader.role.value}:{reader.id}")
