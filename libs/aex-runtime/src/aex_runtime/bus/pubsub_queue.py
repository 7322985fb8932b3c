"""The messages that one consumer has received from Pub/Sub, and their ack deadlines."""

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
"""Function that publishes messages, each with the attempts that it has used, within a time-out in seconds."""

_CALL_S = 3.0
"""Time-out of calls that must end within the ack deadline or before the process stops."""
_CHECKS_PER_LEASE = 10
"""Searches for leases to extend, per length of a lease."""
_RETURN_LEASES = 6
"""Lengths of a lease after which a message whose lease expired is forgotten."""
_SUSPECT_AFTER = 3
"""Deliveries without a result after which a message is a suspect."""
_log = structlog.get_logger(__name__)


@dataclass(slots=True)
class OutstandingMessage:
    """A message that was delivered and is not acked. Times are on the event loop's clock."""

    topic: str
    ack_id: str
    message: Message
    attempts: int
    """Attempts before the one in progress."""
    leased_until: float
    """Time after which the server delivers the message again, to any consumer."""
    renew_at: float


@dataclass(frozen=True, slots=True)
class AckDeadlines:
    """Extends and ends the leases of messages, which are ack deadlines on the server."""

    service: str
    subscriptions: Mapping[str, Subscription]
    """By topic."""
    lease: timedelta
    republish: Republish

    def start_lease(self, outstanding: OutstandingMessage) -> None:
        """Begin the lease of a new delivery, and make its first extension due at once."""
        outstanding.renew_at = loop_time()
        outstanding.leased_until = outstanding.renew_at + self.lease.total_seconds()

    async def extend_due(self, messages: Iterable[OutstandingMessage]) -> None:
        """Extend the leases whose extension is due, three times per ack deadline."""
        now = loop_time()
        due = [each for each in messages if each.renew_at <= now]
        await asyncio.gather(*(self._extend(*each) for each in _by_topic(due)))

    async def release_counted(self, messages: Iterable[OutstandingMessage]) -> None:
        """Release messages, so that the server delivers them again at once. It counts the attempt."""
        await asyncio.gather(*(self._release(*each) for each in _by_topic(messages)))

    async def republish_and_ack(self, messages: Sequence[OutstandingMessage]) -> None:
        """Release messages at once without counting the attempt, and wait until all acks are sent.

        The server counts each delivery. So a copy with the attempts used so far is published for this service alone,
        then the message is acked. If publishing fails, the messages are released and counted.
        """
        copies = [(Outgoing(each.topic, each.message, self.service), each.attempts) for each in messages]
        try:
            if copies:
                await self.republish(copies, _CALL_S)
        except BusError as error:
            _log.warning("republish_failed", count=len(messages), error=str(error))
            await self.release_counted(messages)
        else:
            for topic, group in _by_topic(messages):
                self.subscriptions[topic].ack_soon(each.ack_id for each in group)
        await asyncio.gather(*(each.flush_acks(_CALL_S) for each in self.subscriptions.values()))

    async def _extend(self, topic: str, messages: Sequence[OutstandingMessage]) -> None:
        sent_at, length_s = loop_time(), self.lease.total_seconds()
        try:
            await self.subscriptions[topic].set_ack_deadline([each.ack_id for each in messages], self.lease, _CALL_S)
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
            await self.subscriptions[topic].set_ack_deadline([each.ack_id for each in messages], timedelta(), _CALL_S)
        except BusUnavailable as error:  # the ack deadline releases them
            _log.warning("message_release_failed", count=len(messages), error=str(error))


def _by_topic(messages: Iterable[OutstandingMessage]) -> list[tuple[str, list[OutstandingMessage]]]:
    topics: dict[str, list[OutstandingMessage]] = {}
    for each in messages:
        topics.setdefault(each.topic, []).append(each)
    return list(topics.items())


class PubSubQueue:
    """A `Queue` of messages that streaming pulls have delivered to this process.

    Failed messages wait in the process, because the server knows neither their attempts nor the time of their retry.
    """

    def __init__(
        self,
        service: str,
        subscriptions: Mapping[str, Subscription],
        wake: asyncio.Event,
        republish: Republish,
        lease: timedelta = ACK_DEADLINE,
    ) -> None:
        """`subscriptions`: by topic. `wake`: set when messages arrive. `lease`: ack deadline of a delivery."""
        self._service = service
        self._subscriptions = subscriptions
        self._wake = wake
        self._deadlines = AckDeadlines(service, subscriptions, lease, republish)
        self._lease_s = lease.total_seconds()
        self._outstanding: dict[str, OutstandingMessage] = {}
        self._new: deque[str] = deque()
        self._suspects: list[str] = []
        """Messages that this process has not handled, and that had deliveries without a result before."""
        self._retries: list[tuple[float, str]] = []
        self._expired: dict[str, float] = {}
        """Messages whose lease has expired, and the time until which they are remembered."""
        self._to_release: list[OutstandingMessage] = []

    def add_received(self, topic: str, received: Sequence[Received]) -> None:
        """Add messages from a stream and set `wake`; ack those for another service without handling them."""
        for each in received:
            message, addressee, republished = split_bus_attributes(each.message.attributes, each.message.data)
            if addressee not in {None, self._service}:
                self._subscriptions[topic].ack_soon([each.ack_id])
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
            self._deadlines.start_lease(outstanding)
        self._wake.set()

    async def lease(self, limit: int) -> LeaseBatch:
        """Lease due retries, then new messages. Messages whose ack deadline has passed are skipped."""
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
        """Lease a random suspect, if any: the server counts a death for each message of a dead process."""
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
            self._subscriptions[outstanding.topic].ack_soon([outstanding.ack_id])
            return True
        due_at = loop_time() + disposition.delay.total_seconds()
        if disposition.counted:
            outstanding.attempts += 1
            # Not in an outage, which blocks all messages: the backlog is then for all replicas.
            due_at = self._subscriptions[outstanding.topic].window.schedule_retry_and_get_due_at(due_at)
        heapq.heappush(self._retries, (due_at, leased.token))
        self._wake.set()
        return True

    async def extend(self, messages: Sequence[LeasedMessage]) -> None:  # noqa: ARG002 `extend_leases_until_cancelled` extends all
        return None

    async def extend_leases_until_cancelled(self) -> None:
        """Extend all leases on the server until cancelled, and release messages whose lease has expired."""
        while True:
            await asyncio.sleep(self._lease_s / _CHECKS_PER_LEASE)
            self._forget_expired()
            released, self._to_release = self._to_release, []
            await asyncio.gather(
                self._deadlines.release_counted(released), self._deadlines.extend_due(self._list_unexpired())
            )

    async def release_all(self) -> None:
        """Release all messages at once and uncounted, and wait until all acks are sent."""
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
        """Record an expired lease: the message may be delivered again, here or elsewhere."""
        self._expired[key] = now + _RETURN_LEASES * self._lease_s
        self._to_release.append(replace(outstanding))  # a copy: a redelivery changes the ack id
        _log.warning("lease_lapsed", topic=outstanding.topic, attempts=outstanding.attempts)

    def _forget_expired(self) -> None:
        now = loop_time()
        for key in [key for key, until in self._expired.items() if until < now]:
            del self._outstanding[key], self._expired[key]


def _leased_message(key: str, outstanding: OutstandingMessage) -> LeasedMessage:
    return LeasedMessage(key, 0, Delivery(outstanding.topic, outstanding.message, outstanding.attempts + 1))
