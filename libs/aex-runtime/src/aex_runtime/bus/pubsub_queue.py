"""A consumer's messages of a service's subscriptions, and their ack deadlines."""

import asyncio
import heapq
import random
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

import structlog

from aex_runtime.bus.consume_loop import LeaseBatch, LeasedMessage, loop_time
from aex_runtime.bus.port import Ack, BusError, BusUnavailable, Delivery, Disposition, Message, Outgoing
from aex_runtime.bus.pubsub_stream import Received, Subscription
from aex_runtime.bus.pubsub_topology import ACK_DEADLINE, split_bus_attributes

Republish = Callable[[Sequence[tuple[Outgoing, int]], float], Awaitable[None]]
"""Publishes messages with their attempts, within a time-out in seconds."""

_CALL_S = 3.0
"""For calls within the ack deadline, or of a stopping process."""
_CHECKS_PER_LEASE = 10
"""Searches for due extensions in the time of a lease."""
_RETURN_LEASES = 6
"""Leases after which a message with an expired lease is forgotten."""
_SUSPECT_AFTER = 3
"""Deliveries without a result after which a message is a suspect."""
_log = structlog.get_logger(__name__)


@dataclass(slots=True)
class OutstandingMessage:
    """A delivered message without an ack. Times are on the event loop's clock."""

    topic: str
    ack_id: str
    message: Message
    attempts: int
    """Attempts before the one in progress."""
    leased_until: float
    """After this time the server delivers it again, to any consumer."""
    renew_at: float


@dataclass(frozen=True, slots=True)
class AckDeadlines:
    """The ack deadlines of the messages of a service's subscriptions."""

    service: str
    subscriptions: Mapping[str, Subscription]
    """By topic."""
    lease: timedelta
    republish: Republish

    def start(self, outstanding: OutstandingMessage) -> None:
        """Begin the lease of a new delivery, due for extension: a server may never redeliver without one."""
        outstanding.renew_at = loop_time()
        outstanding.leased_until = outstanding.renew_at + self.lease.total_seconds()

    async def extend(self, messages: Iterable[OutstandingMessage]) -> None:
        """Extend the leases that are due, three times while each lasts."""
        now = loop_time()
        due = [each for each in messages if each.renew_at <= now]
        await asyncio.gather(*(self._extend(*each) for each in _by_topic(due)))

    async def release(self, messages: Iterable[OutstandingMessage]) -> None:
        """Release messages at once; the server counts the attempt."""
        await asyncio.gather(*(self._release(*each) for each in _by_topic(messages)))

    async def republish_and_ack(self, messages: Sequence[OutstandingMessage]) -> None:
        """Release messages at once and uncounted, and wait until all acks are sent.

        The server counts each delivery, also without a handler. A released message is therefore published again, for
        this service alone and with its attempts, and only then acked.
        """
        copies = [(Outgoing(each.topic, each.message, self.service), each.attempts) for each in messages]
        try:
            if copies:
                await self.republish(copies, _CALL_S)
        except BusError as error:
            _log.warning("republish_failed", count=len(messages), error=str(error))
            await self.release(messages)
        else:
            for topic, group in _by_topic(messages):
                self.subscriptions[topic].ack(each.ack_id for each in group)
        await asyncio.gather(*(each.flush_acks(_CALL_S) for each in self.subscriptions.values()))

    async def _extend(self, topic: str, messages: Sequence[OutstandingMessage]) -> None:
        sent_at, length_s = loop_time(), self.lease.total_seconds()
        try:
            await self.subscriptions[topic].set_deadline([each.ack_id for each in messages], self.lease, _CALL_S)
        except BusUnavailable as error:
            _log.warning("message_lease_extension_failed", held=len(messages), error=str(error))
            return
        answered_at = loop_time()
        for each in messages:
            each.renew_at = sent_at + length_s / 3
            if answered_at <= each.leased_until:  # else the extension may have been too late
                each.leased_until = sent_at + length_s

    async def _release(self, topic: str, messages: Sequence[OutstandingMessage]) -> None:
        try:
            await self.subscriptions[topic].set_deadline([each.ack_id for each in messages], timedelta(), _CALL_S)
        except BusUnavailable as error:  # the ack deadline releases them
            _log.warning("message_release_failed", count=len(messages), error=str(error))


def _by_topic(messages: Iterable[OutstandingMessage]) -> list[tuple[str, list[OutstandingMessage]]]:
    topics: dict[str, list[OutstandingMessage]] = {}
    for each in messages:
        topics.setdefault(each.topic, []).append(each)
    return list(topics.items())


class PubSubQueue:
    """A `Queue` filled by streaming pulls, whose messages are leased from the server.

    Failed messages wait here, because the server knows neither their attempts nor their retry time.
    """

    def __init__(
        self,
        service: str,
        subscriptions: Mapping[str, Subscription],
        wake: asyncio.Event,
        republish: Republish,
        lease: timedelta = ACK_DEADLINE,
    ) -> None:
        """`subscriptions`: the service's, by topic. `lease`: the ack deadline of a delivery."""
        self._service = service
        self._subscriptions = subscriptions
        self._wake = wake
        self._deadlines = AckDeadlines(service, subscriptions, lease, republish)
        self._lease_s = lease.total_seconds()
        self._outstanding: dict[str, OutstandingMessage] = {}
        self._new: deque[str] = deque()
        self._suspects: list[str] = []
        """New here, but delivered before without a result."""
        self._retries: list[tuple[float, str]] = []
        self._expired: dict[str, float] = {}
        """Messages with an expired lease, and the time until which they are remembered."""
        self._to_release: list[OutstandingMessage] = []

    def take(self, topic: str, received: Sequence[Received]) -> None:
        """Add messages that a stream delivered; those of other services are acked without handling."""
        for each in received:
            message, addressee, republished = split_bus_attributes(each.message.attributes, each.message.data)
            if addressee not in {None, self._service}:
                self._subscriptions[topic].ack([each.ack_id])
                continue
            key = f"{topic}/{each.message.message_id}"
            outstanding = self._outstanding.get(key)
            if outstanding is None:
                attempts = republished + max(each.delivery_attempt, 1) - 1
                outstanding = OutstandingMessage(topic, each.ack_id, message, attempts, 0.0, 0.0)
                self._outstanding[key] = outstanding
                (self._suspects if each.delivery_attempt > _SUSPECT_AFTER else self._new).append(key)
            else:  # its lease had expired: no other consumer has it, and the attempts known here are exact
                outstanding.ack_id = each.ack_id
                if self._expired.pop(key, None) is not None:
                    self._new.append(key)
            self._deadlines.start(outstanding)
        self._wake.set()

    async def lease(self, limit: int) -> LeaseBatch:
        """Return due retries first, then new messages."""
        messages: list[LeasedMessage] = []
        now = loop_time()
        while len(messages) < limit and (key := self._next_due(now)) is not None:
            outstanding = self._outstanding[key]
            if outstanding.leased_until < now:
                self._expire(key, outstanding, now)
            else:
                messages.append(_leased_message(key, outstanding))
        has_suspects = bool(self._suspects)
        if self._new:
            return LeaseBatch(messages, 0.0, has_suspects)
        return LeaseBatch(messages, self._retries[0][0] - now if self._retries else None, has_suspects)

    async def lease_suspect(self) -> LeasedMessage | None:
        """Return a random suspect: the server counts a death for all messages of the process."""
        now = loop_time()
        while self._suspects:
            key = self._suspects.pop(random.randrange(len(self._suspects)))  # noqa: S311 no secret
            outstanding = self._outstanding[key]
            if outstanding.leased_until >= now:
                return _leased_message(key, outstanding)
            self._expire(key, outstanding, now)
        return None

    async def resolve(self, leased: LeasedMessage, disposition: Disposition) -> bool:
        outstanding = self._outstanding[leased.token]
        if isinstance(disposition, Ack):
            del self._outstanding[leased.token]
            self._subscriptions[outstanding.topic].ack([outstanding.ack_id])
            return True
        due_at = loop_time() + disposition.delay.total_seconds()
        if disposition.counted:
            outstanding.attempts += 1
            # Not in an outage, which blocks all messages: the backlog is then for all replicas.
            due_at = self._subscriptions[outstanding.topic].window.wait_until(due_at)
        heapq.heappush(self._retries, (due_at, leased.token))
        self._wake.set()
        return True

    async def extend(self, messages: Sequence[LeasedMessage]) -> None:  # noqa: ARG002 `extend_leases` extends all
        return None

    async def extend_leases(self) -> None:
        """Extend all leases until cancelled, also expired ones: the server may not have redelivered them."""
        while True:
            await asyncio.sleep(self._lease_s / _CHECKS_PER_LEASE)
            self._forget_expired()
            released, self._to_release = self._to_release, []
            await asyncio.gather(self._deadlines.release(released), self._deadlines.extend(self._list_unexpired()))

    async def release_all(self) -> None:
        """Release all messages, at once and uncounted, and wait until all acks are sent."""
        messages = self._list_unexpired()
        for each in (self._outstanding, self._new, self._suspects, self._retries, self._expired):
            each.clear()
        await self._deadlines.republish_and_ack(messages)

    def _list_unexpired(self) -> list[OutstandingMessage]:
        return [outstanding for key, outstanding in self._outstanding.items() if key not in self._expired]

    def _next_due(self, now: float) -> str | None:
        if self._retries and self._retries[0][0] <= now:
            return heapq.heappop(self._retries)[1]
        return self._new.popleft() if self._new else None

    def _expire(self, key: str, outstanding: OutstandingMessage, now: float) -> None:
        """Note an expired lease: the message may be redelivered, here or elsewhere."""
        self._expired[key] = now + _RETURN_LEASES * self._lease_s
        self._to_release.append(replace(outstanding))  # a copy: a redelivery changes the ack id
        _log.warning("lease_lapsed", topic=outstanding.topic, attempts=outstanding.attempts)

    def _forget_expired(self) -> None:
        now = loop_time()
        for key in [key for key, until in self._expired.items() if until < now]:
            del self._outstanding[key], self._expired[key]


def _leased_message(key: str, outstanding: OutstandingMessage) -> LeasedMessage:
    return LeasedMessage(key, 0, Delivery(outstanding.topic, outstanding.message, outstanding.attempts + 1))
