"""Who follows contracts on this instance: how many at once, for how long, and how they learn of what is new."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime

from aex_runtime.http.auth import Principal
from aex_verification.turnstile import Turnstile
from aex_verification.waits import Waits

_LOOK_AGAIN_S = 1.0
"""For the events that another instance has written."""


@dataclass(frozen=True, slots=True)
class FollowingBounds:
    """`of_one`, `of_all`: streams at once, of one principal and in all. `heartbeat_s`: how long nothing is sent.
    `lifetime_s`: after which a reader has to come back with its authorisation."""

    of_one: int = 50
    of_all: int = 500
    heartbeat_s: float = 15.0
    lifetime_s: float = 240.0

    def lifetime_of(self, reader: Principal, now: datetime, jitter: float) -> float:
        """Seconds that a stream of this reader may last: never longer than its token. `jitter` in [0, 1) shortens it
        by up to a quarter, so that those who came together do not come back together."""
        whole = self.lifetime_s * (1 - jitter / 4)
        left = whole if reader.expires_at is None else (reader.expires_at - now).total_seconds()
        return max(min(whole, left), 0.0)


class Followers:
    """The streams of events that are open."""

    def __init__(self, bounds: FollowingBounds | None = None) -> None:
        self.bounds = bounds or FollowingBounds()
        self.waits = Waits(self.bounds.of_all, _LOOK_AGAIN_S)
        self._turnstile = Turnstile(self.bounds.of_one, self.bounds.of_all, "streams", "too_many_streams")

    def wake(self, contract_id: str) -> None:
        """Whoever follows this contract looks for events now. Called after the commit that wrote them."""
        self.waits.wake(contract_id)

    async def count(self) -> float:
        """How many streams are open."""
        return self._turnstile.inside

    @asynccontextmanager
    async def admitted(self, reader: Principal) -> AsyncIterator[None]:
        """The reader has a stream until the block ends. Raises `RateLimited` and `TemporarilyUnavailable`."""
        with self._turnstile.passed(f"{reader.role.value}:{reader.id}"):
            yield
