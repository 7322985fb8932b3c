"""What one consumer holds of a service's subscriptions: fetched, being handled, or waiting for another try."""

import asyncio
import heapq
import random
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

import structlog

from aex_runtime.bus.consumption import Claim, Claimed
from aex_runtime.bus.port import Ack, Delivery, Disposition
from aex_runtime.bus.pubsub_leases import Held, Leases, Republish
from aex_runtime.bus.pubsub_marks import unmarked
from aex_runtime.bus.pubsub_stream import Received
from aex_runtime.bus.pubsub_subscription import Subscription
from aex_runtime.bus.pubsub_topology import ACK_DEADLINE

_TICKS = 10
"""So often in the time of a lease it is looked which ones are to be extended."""
_RETURN_LEASES = 6
"""So many times as long as a lease, a message whose lease lapsed is expected back."""
_SUSPECTED = 3
"""Deliveries that the server did not hear of again, after which a message is suspected to kill its process."""
_log = structlog.get_logger(__name__)


class PubSubQueue:
    """A `Queue` filled by streaming pulls. What is in it is leased: the server gives it to nobody else.

    What failed waits here too, for the server neither knows how often it was tried nor when it is due.
    """

    def __init__(
        self,
        service: str,
        subscriptions: Mapping[str, Subscription],
        wake: asyncio.Event,
        republish: Republish,
        lease: timedelta = ACK_DEADLINE,
    ) -> None:
        """`subscriptions`: the service's, by topic. `lease`: what the server grants with a delivery."""
        self._service = service
        self._subscriptions = subscriptions
        self._wake = wake
        self._leases = Leases(service, subscriptions, lease, republish)
        self._lease_s = lease.total_seconds()
        self._held: dict[str, Held] = {}
        self._fresh: deque[str] = deque()
        self._suspected: list[str] = []
        """Fresh too, but the server delivered them before, and never heard of it."""
        self._due: list[tuple[float, str]] = []
        self._lapsed: dict[str, float] = {}
        """What we lost to the server, and how long it is remembered."""
        self._to_release: list[Held] = []

    def take(self, topic: str, received: Sequence[Received]) -> None:
        """Take in what a stream delivered; what is for another service is acked unseen."""
        for each in received:
            found = unmarked(each.message.attributes, each.message.data)
            if found.addressee not in {None, self._service}:
                self._subscriptions[topic].ack([each.ack_id])
                continue
            key = f"{topic}/{each.message.message_id}"
            held = self._held.get(key)
            if held is None:
                attempts = found.attempts + max(each.delivery_attempt, 1) - 1
                held = self._held[key] = Held(topic, each.ack_id, found.message, attempts, 0.0, 0.0)
                (self._suspected if each.delivery_attempt > _SUSPECTED else self._fresh).append(key)
            else:  # its lease had lapsed: nobody else has it, and we know better how often it was tried
                held.ack_id = each.ack_id
                if self._lapsed.pop(key, None) is not None:
                    self._fresh.append(key)
            self._leases.start(held)
        self._wake.set()

    async def claim(self, limit: int) -> Claimed:
        """What is due again first, then what is fresh."""
        claims: list[Claim] = []
        now = _now()
        while len(claims) < limit and (key := self._next(now)) is not None:
            held = self._held[key]
            if held.leased_until < now:
                self._let_go(key, held, now)
            else:
                claims.append(_claim_of(key, held))
        suspected = bool(self._suspected)
        if self._fresh:
            return Claimed(claims, 0.0, suspected)
        return Claimed(claims, self._due[0][0] - now if self._due else None, suspected)

    async def claim_suspected(self) -> Claim | None:
        """Any one of them: the server counts a death against all that were held, so that their order must change."""
        now = _now()
        while self._suspected:
            key = self._suspected.pop(random.randrange(len(self._suspected)))  # noqa: S311 no secret
            held = self._held[key]
            if held.leased_until >= now:
                return _claim_of(key, held)
            self._let_go(key, held, now)
        return None

    async def settle(self, claim: Claim, disposition: Disposition) -> bool:
        held = self._held[claim.token]
        if isinstance(disposition, Ack):
            del self._held[claim.token]
            self._subscriptions[held.topic].ack([held.ack_id])
            return True
        due_at = _now() + disposition.delay.total_seconds()
        if disposition.counted:
            held.attempts += 1
            # Not for an outage: nothing else would get through either, and the backlog is better left to all replicas.
            due_at = self._subscriptions[held.topic].window.wait_until(due_at)
        heapq.heappush(self._due, (due_at, claim.token))
        self._wake.set()
        return True

    async def keep(self, claims: Sequence[Claim]) -> None:  # noqa: ARG002 `keep_leases` does it for all that is held
        return None

    async def keep_leases(self) -> None:
        """Extend the leases of everything that is held, until cancelled.

        Also of what lapsed while it is handled: the server may still have it for ours.
        """
        while True:
            await asyncio.sleep(self._lease_s / _TICKS)
            self._forget()
            released, self._to_release = self._to_release, []
            ours = [held for key, held in self._held.items() if key not in self._lapsed]
            await asyncio.gather(self._leases.release(released), self._leases.extend(ours))

    async def give_back(self) -> None:
        """Let others have, at once and uncounted, what is held; wait until every ack is out."""
        ours = [held for key, held in self._held.items() if key not in self._lapsed]
        for each in (self._held, self._fresh, self._suspected, self._due, self._lapsed):
            each.clear()
        await self._leases.hand_over(ours)

    def _next(self, now: float) -> str | None:
        """The next message to handle; None where nothing is due."""
        if self._due and self._due[0][0] <= now:
            return heapq.heappop(self._due)[1]
        return self._fresh.popleft() if self._fresh else None

    def _let_go(self, key: str, held: Held, now: float) -> None:
        """Its lease lapsed: it may be with others by now, or comes to us again."""
        self._lapsed[key] = now + _RETURN_LEASES * self._lease_s
        self._to_release.append(replace(held))  # as it is now: it may come back under another ack id
        _log.warning("lease_lapsed", topic=held.topic, attempts=held.attempts)

    def _forget(self) -> None:
        """Those that did not come back are with others."""
        now = _now()
        for key in [key for key, until in self._lapsed.items() if until < now]:
            del self._held[key], self._lapsed[key]


def _claim_of(key: str, held: Held) -> Claim:
    return Claim(key, 0, Delivery(held.topic, held.message, held.attempts + 1))


def _now() -> float:
    return asyncio.get_running_loop().time()
