"""The leases of what a consumer holds: confirmed, extended, given back."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

import structlog

from aex_runtime.bus.port import BusError, BusUnavailable, Message, Outgoing
from aex_runtime.bus.pubsub_subscription import Subscription

Republish = Callable[[Sequence[tuple[Outgoing, int]], float], Awaitable[None]]
"""Publishes messages with the attempts each has taken, within so many seconds."""

_CALL_S = 3.0
"""For what has to be told within the ack deadline, or by a process that stops."""
_log = structlog.get_logger(__name__)


@dataclass(slots=True)
class Held:
    """A message that was delivered to us and not answered yet. Times are the event loop's."""

    topic: str
    ack_id: str
    message: Message
    attempts: int
    """Those it has taken; the one under way not counted."""
    leased_until: float
    """After that the server delivers it again, to us or to others."""
    renew_at: float


class Leases:
    """What is told to the server about the messages of a service's subscriptions."""

    def __init__(
        self, service: str, subscriptions: Mapping[str, Subscription], lease: timedelta, republish: Republish
    ) -> None:
        """`subscriptions`: the service's, by topic. `lease`: the length of one."""
        self._service = service
        self._subscriptions = subscriptions
        self._lease = lease
        self._republish = republish

    def start(self, held: Held) -> None:
        """It was delivered just now. The server wants to hear soon that it is being worked on: what is not answered at
        all may stay where it is for ever."""
        held.renew_at = _now()
        held.leased_until = held.renew_at + self._lease.total_seconds()

    async def extend(self, held: Iterable[Held]) -> None:
        """Extend those leases that it is time for, three times while each lasts."""
        now = _now()
        due = [each for each in held if each.renew_at <= now]
        await asyncio.gather(*(self._extend(*each) for each in _by_topic(due)))

    async def release(self, held: Iterable[Held]) -> None:
        """Let others have these at once; the server counts the attempt."""
        await asyncio.gather(*(self._release(*each) for each in _by_topic(held)))

    async def hand_over(self, held: Sequence[Held]) -> None:
        """Let others have these, at once and uncounted; wait until every ack is out.

        The server counts each delivery, also of what no handler ever saw. Hence what is given back is published anew,
        for this service alone and with the attempts it has really taken; only then it is acked.
        """
        copies = [(Outgoing(each.topic, each.message, self._service), each.attempts) for each in held]
        try:
            if copies:
                await self._republish(copies, _CALL_S)
        except BusError as error:
            _log.warning("not_given_back_uncounted", count=len(held), error=str(error))
            await self.release(held)
        else:
            for topic, some in _by_topic(held):
                self._subscriptions[topic].ack(each.ack_id for each in some)
        await asyncio.gather(*(each.acked(_CALL_S) for each in self._subscriptions.values()))

    async def _extend(self, topic: str, held: Sequence[Held]) -> None:
        sent_at, length_s = _now(), self._lease.total_seconds()
        try:
            await self._subscriptions[topic].hold([each.ack_id for each in held], self._lease, _CALL_S)
        except BusUnavailable as error:
            _log.warning("claims_not_extended", held=len(held), error=str(error))
            return
        answered_at = _now()
        for each in held:
            each.renew_at = sent_at + length_s / 3
            if answered_at <= each.leased_until:  # otherwise it may have come too late
                each.leased_until = sent_at + length_s

    async def _release(self, topic: str, held: Sequence[Held]) -> None:
        try:
            await self._subscriptions[topic].hold([each.ack_id for each in held], timedelta(), _CALL_S)
        except BusUnavailable as error:  # the ack deadline gives them back
            _log.warning("claims_not_given_back", count=len(held), error=str(error))


def _by_topic(held: Iterable[Held]) -> list[tuple[str, list[Held]]]:
    topics: dict[str, list[Held]] = {}
    for each in held:
        topics.setdefault(each.topic, []).append(each)
    return list(topics.items())


def _now() -> float:
    return asyncio.get_running_loop().time()
