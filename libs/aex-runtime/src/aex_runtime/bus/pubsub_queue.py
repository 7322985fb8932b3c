"""What one consumer holds of a service's subscriptions: fetched, being handled, or waiting for another try."""

import asyncio
import heapq
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import count

import structlog

from aex_runtime.bus.consumption import Claim, Claimed
from aex_runtime.bus.port import Ack, BusError, BusUnavailable, Delivery, Disposition, Message, Outgoing
from aex_runtime.bus.pubsub_marks import unmarked
from aex_runtime.bus.pubsub_stream import Received
from aex_runtime.bus.pubsub_subscription import Subscription
from aex_runtime.bus.pubsub_topology import ACK_DEADLINE

Republish = Callable[[Sequence[tuple[Outgoing, int]], float], Awaitable[None]]
"""Publishes messages with the attempts each has taken, within so many seconds."""

_LEASE_S = ACK_DEADLINE.total_seconds()
_CALL_S = 3.0
"""For what has to be told within the ack deadline, or by a process that stops."""
_log = structlog.get_logger(__name__)


@dataclass(slots=True)
class _Held:
    topic: str
    ack_id: str
    message: Message
    attempts: int
    """Those it has taken; the one under way not counted."""
    leased_until: float
    """On the event loop's clock. After that the server delivers it again, to us or to others."""


class PubSubQueue:
    """A `Queue` filled by streaming pulls. Everything in it is leased: the server gives it to nobody else."""

    def __init__(
        self,
        service: str,
        subscriptions: Mapping[str, Subscription],
        concurrency: int,
        wake: asyncio.Event,
        republish: Republish,
    ) -> None:
        """`subscriptions`: the service's, by topic. `concurrency`: of messages that failed, that many wait here, the
        others with the server.
        """
        self._service = service
        self._subscriptions = subscriptions
        self._room = concurrency
        self._wake = wake
        self._republish = republish
        self._held: dict[int, _Held] = {}
        self._fresh: deque[int] = deque()
        self._due: list[tuple[float, int]] = []
        self._failed: set[int] = set()
        self._numbers = count()

    def take(self, topic: str, received: Sequence[Received]) -> None:
        """Take in what a stream delivered; what is for another service is acked unseen."""
        leased_until = _now() + _LEASE_S
        for each in received:
            found = unmarked(each.message.attributes, each.message.data)
            if found.addressee not in {None, self._service}:
                self._subscriptions[topic].ack([each.ack_id])
                continue
            attempts = found.attempts + max(each.delivery_attempt, 1) - 1
            number = next(self._numbers)
            self._held[number] = _Held(topic, each.ack_id, found.message, attempts, leased_until)
            self._fresh.append(number)
        self._wake.set()

    async def claim(self, limit: int) -> Claimed:
        """What is due again first, then what is fresh."""
        claims: list[Claim] = []
        now = _now()
        while len(claims) < limit and (number := self._next(now)) is not None:
            held = self._held[number]
            if held.leased_until < now:
                del self._held[number]
                _log.warning("lease_lapsed", topic=held.topic, attempts=held.attempts)
                continue
            claims.append(Claim(held.ack_id, number, Delivery(held.topic, held.message, held.attempts + 1)))
        if self._fresh:
            return Claimed(claims, 0.0)
        return Claimed(claims, self._due[0][0] - now if self._due else None)

    async def settle(self, claim: Claim, disposition: Disposition) -> bool:
        held = self._held[claim.row]
        if isinstance(disposition, Ack):
            del self._held[claim.row]
            self._subscriptions[held.topic].ack([held.ack_id])
            return True
        if disposition.counted and len(self._failed) >= self._room:
            # Enough of them are here: the rest must not keep good messages out. The server counts this attempt.
            del self._held[claim.row]
            await self._subscriptions[held.topic].hold([held.ack_id], disposition.delay, _CALL_S)
            return True
        if disposition.counted:
            held.attempts += 1
            self._failed.add(claim.row)
        heapq.heappush(self._due, (_now() + disposition.delay.total_seconds(), claim.row))
        self._wake.set()
        return True

    async def keep(self, claims: Sequence[Claim]) -> None:  # noqa: ARG002 `keep_leases` does it for all that is held
        return None

    async def keep_leases(self) -> None:
        """Extend the leases of everything that is held, three times per ack deadline, until cancelled."""
        while True:
            await asyncio.sleep(_LEASE_S / 3)
            leased = [held for held in self._held.values() if held.leased_until >= _now()]
            await asyncio.gather(*(self._extend(*each) for each in _by_topic(leased)))

    async def give_back(self) -> None:
        """Let others have, at once and uncounted, what is held; wait until every ack is out.

        The server counts each delivery, also of what no handler ever saw. Hence what is given back is published anew,
        for this service alone and with the attempts it has really taken; only then it is acked.
        """
        held, self._held = list(self._held.values()), {}
        self._fresh.clear()
        self._due.clear()
        self._failed.clear()
        if held:
            await self._hand_over(held)
        await asyncio.gather(*(each.acked(_CALL_S) for each in self._subscriptions.values()))

    async def _hand_over(self, held: Sequence[_Held]) -> None:
        copies = [(Outgoing(each.topic, each.message, self._service), each.attempts) for each in held]
        try:
            await self._republish(copies, _CALL_S)
        except BusError as error:
            _log.warning("not_given_back_uncounted", count=len(held), error=str(error))
            await asyncio.gather(*(self._release(*each) for each in _by_topic(held)))
        else:
            for topic, some in _by_topic(held):
                self._subscriptions[topic].ack(each.ack_id for each in some)

    async def _release(self, topic: str, held: Sequence[_Held]) -> None:
        try:
            await self._subscriptions[topic].hold([each.ack_id for each in held], timedelta(), _CALL_S)
        except BusUnavailable as error:  # the ack deadline gives them back
            _log.warning("claims_not_given_back", count=len(held), error=str(error))

    async def _extend(self, topic: str, held: Sequence[_Held]) -> None:
        sent_at = _now()
        try:
            await self._subscriptions[topic].hold([each.ack_id for each in held], ACK_DEADLINE, _CALL_S)
        except BusUnavailable as error:
            _log.warning("claims_not_extended", held=len(held), error=str(error))
            return
        answered_at = _now()
        for each in held:
            if answered_at <= each.leased_until:  # otherwise it may have come too late
                each.leased_until = sent_at + _LEASE_S

    def _next(self, now: float) -> int | None:
        """The next message to handle; None where nothing is due."""
        if self._due and self._due[0][0] <= now:
            number = heapq.heappop(self._due)[1]
            self._failed.discard(number)
            return number
        return self._fresh.popleft() if self._fresh else None


def _by_topic(held: Iterable[_Held]) -> list[tuple[str, list[_Held]]]:
    topics: dict[str, list[_Held]] = {}
    for each in held:
        topics.setdefault(each.topic, []).append(each)
    return list(topics.items())


def _now() -> float:
    return asyncio.get_running_loop().time()
