"""The loop behind `Bus.consume`, the same for every queue of our own: bounded, kept alive, given back when stopped."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

import structlog

from aex_models.backoff import Backoff
from aex_runtime.bus.port import BusUnavailable, Delivery, Disposition, Receiver, Retry
from aex_runtime.failures import describe_failure
from aex_runtime.ids import Ids
from aex_runtime.log_context import log_context

_OUTAGE = Backoff(first=timedelta(milliseconds=100), cap=timedelta(seconds=5))
_FAILED_RECEIVER = Backoff(first=timedelta(seconds=1), cap=timedelta(minutes=1))
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Claim:
    """A delivery that one consumer holds until the visibility time-out, unless it keeps it."""

    token: str
    row: int
    delivery: Delivery


@dataclass(frozen=True, slots=True)
class Claimed:
    """What a consumer got, and in how many seconds the next one falls due (None: nothing waits).

    `suspected`: whether messages are due whose deliveries were cut off before, again and again.
    """

    claims: Sequence[Claim]
    next_in_s: float | None
    suspected: bool = False


class Queue(Protocol):
    """One service's queue, as one consumer sees it. All but `wait` raise `BusUnavailable`."""

    async def claim(self, limit: int) -> Claimed:
        """Take up to `limit` deliveries that are due, none of them suspected."""
        ...

    async def claim_suspected(self) -> Claim | None:
        """Take one that is suspected to kill its process, if one is due."""
        ...

    async def settle(self, claim: Claim, disposition: Disposition) -> bool:
        """Remove or put back; False where the claim had lapsed and is another's by now."""
        ...

    async def keep(self, claims: Sequence[Claim]) -> None:
        """Hold claims for another visibility time-out."""
        ...

    async def give_back(self) -> None:
        """Let others have, at once and uncounted, whatever this consumer still holds."""
        ...


@dataclass(frozen=True, slots=True)
class Pace:
    """How a consumer spends its time. `poll` is the slow look behind the wake-ups; `drain` is given to running
    handlers when the consumer stops. `patience`: how long one that is suspected waits for others to end, and others for
    it."""

    poll: timedelta = timedelta(seconds=1)
    visibility: timedelta = timedelta(seconds=30)
    drain: timedelta = timedelta(seconds=5)
    patience: timedelta = timedelta(seconds=5)


class Consumption:
    """Delivers from a queue to a receiver until cancelled.

    What is suspected to kill its process is delivered alone, one at a time, and only once others had their turn.
    """

    def __init__(
        self, queue: Queue, receive: Receiver, concurrency: int, pace: Pace, wake: asyncio.Event, ids: Ids
    ) -> None:
        self._queue = queue
        self._receive = receive
        self._free = concurrency
        self._pace = pace
        self._wake = wake
        self._ids = ids
        self._held: dict[asyncio.Task[None], Claim] = {}
        self._alone: Claim | None = None
        """The suspected one under way, and until when nothing is started beside it: it must hold up nobody."""
        self._alone_until = 0.0
        self._turn_at: float | None = None
        """From when the suspected are looked at; None: there are none."""
        self._outages = 0

    async def run(self) -> None:
        """Consume until cancelled; then wait for handlers as long as `drain`, cancel the rest, give back."""
        keeper = asyncio.create_task(self._keep())
        try:
            while True:
                self._wake.clear()  # before the look, so that what comes during it is not missed
                alone_s = self._alone_until - _now()
                wait_s = alone_s if alone_s > 0 else await self._take() if self._free else None
                await self._sleep(wait_s)
        finally:
            await self._wind_down(keeper)

    async def _take(self) -> float:
        """Start handlers for what is due; the seconds until it is worth another look."""
        poll_s = self._pace.poll.total_seconds()
        try:
            if self._is_their_turn():
                return await self._take_suspected()
            claimed = await self._queue.claim(self._free)
        except BusUnavailable as error:
            self._outages += 1
            delay = _OUTAGE.delay(self._outages, self._ids.jitter())
            _log.warning("bus_unavailable", error=str(error), retry_in_s=delay.total_seconds())
            return delay.total_seconds()
        self._outages = 0
        for claim in claimed.claims:
            self._start(claim)
        if not claimed.suspected:
            self._turn_at = None
        elif self._turn_at is None:
            self._turn_at = _now() + poll_s
        if claimed.next_in_s is None:
            return poll_s
        return min(poll_s, max(claimed.next_in_s, 0.001))

    def _is_their_turn(self) -> bool:
        return self._alone is None and self._turn_at is not None and _now() >= self._turn_at

    async def _take_suspected(self) -> float:
        """Start one that is suspected once the others have ended, or were waited for long enough."""
        poll_s, patience_s = self._pace.poll.total_seconds(), self._pace.patience.total_seconds()
        if self._held and _now() < (self._turn_at or 0) + patience_s:
            return poll_s
        claim = await self._queue.claim_suspected()
        self._turn_at = None
        if claim is None:
            return 0
        _log.warning("suspect_delivered_alone", attempt=claim.delivery.attempt, **_told(claim))
        self._alone, self._alone_until = claim, _now() + patience_s
        self._start(claim)
        return poll_s

    def _start(self, claim: Claim) -> None:
        self._free -= 1
        task = asyncio.create_task(self._handle(claim))
        self._held[task] = claim
        task.add_done_callback(self._held.pop)

    async def _sleep(self, wait_s: float | None) -> None:
        """Until woken; with every place taken only a handler that ends can wake us to any purpose."""
        try:
            async with asyncio.timeout(wait_s if self._free else None):
                await self._wake.wait()
        except TimeoutError:
            return

    async def _handle(self, claim: Claim) -> None:
        try:
            disposition = await self._receive(claim.delivery)
        except Exception as error:  # noqa: BLE001 whatever a receiver raises, the message must come again
            delay = _FAILED_RECEIVER.delay(claim.delivery.attempt, self._ids.jitter())
            _log.error("receiver_failed", reason=describe_failure(error), **_told(claim))
            disposition = Retry(delay)
        self._free += 1
        if self._alone is claim:
            self._alone, self._alone_until = None, 0.0
        self._wake.set()  # the next claim then shares a commit with this answer
        try:
            settled = await self._queue.settle(claim, disposition)
        except BusUnavailable as error:
            _log.warning("delivery_not_settled", error=str(error), **_told(claim))
        else:
            if not settled:
                _log.warning("claim_lapsed", attempt=claim.delivery.attempt, **_told(claim))

    async def _keep(self) -> None:
        """Extend what running handlers hold, three times per visibility time-out."""
        while True:
            await asyncio.sleep(self._pace.visibility.total_seconds() / 3)
            if not self._held:
                continue
            try:
                await self._queue.keep(list(self._held.values()))
            except BusUnavailable as error:
                _log.warning("claims_not_extended", held=len(self._held), error=str(error))

    async def _wind_down(self, keeper: asyncio.Task[None]) -> None:
        try:
            if self._held:
                await asyncio.wait(list(self._held), timeout=self._pace.drain.total_seconds())
        finally:
            tasks = [keeper, *self._held]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            try:
                await self._queue.give_back()
            except BusUnavailable as error:  # the visibility time-out gives it back
                _log.warning("claims_not_given_back", error=str(error))


def _now() -> float:
    return asyncio.get_running_loop().time()


def _told(claim: Claim) -> dict[str, str]:
    """The message's topic, and what it is about, unread as it is."""
    delivery = claim.delivery
    return {"topic": delivery.topic, **log_context(delivery.message.attributes.get("ce-subject", ""))}
