"""The loop behind `Bus.consume`, which leases messages, runs their handlers and reports the results."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

import structlog

from aex_models.backoff import Backoff
from aex_runtime.bus.port import BusUnavailable, Delivery, Disposition, Receiver, Retry
from aex_runtime.ids import Ids
from aex_runtime.logs import describe_failure, log_context
from aex_runtime.retry import Retries
from aex_runtime.yielding import wait_for_event

_OUTAGE = Backoff(first=timedelta(milliseconds=100), cap=timedelta(seconds=5))
_FAILED_RECEIVER = Backoff(first=timedelta(seconds=1), cap=timedelta(minutes=1))
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class LeasedMessage:
    """A delivery that one consumer has leased.

    No other consumer gets the message until the visibility time-out, which the consumer can extend.
    """

    token: str
    """Identifies the lease, so that a result after its end is recognised."""
    row: int
    """Number of the message in its queue."""
    delivery: Delivery


@dataclass(frozen=True, slots=True)
class LeaseBatch:
    """The messages that one call has leased."""

    messages: Sequence[LeasedMessage]
    next_in_s: float | None
    """Seconds until the next message is due; None if the queue is empty."""
    has_suspects: bool = False
    """True if suspects are due. They are not among `messages`; `lease_suspect` returns them."""


class Queue(Protocol):
    """The queue of a service, as one consumer sees it. Its methods raise `BusUnavailable`."""

    async def lease(self, limit: int) -> LeaseBatch:
        """Lease up to `limit` due messages that are no suspects."""

    async def lease_suspect(self) -> LeasedMessage | None:
        """Lease one due suspect: a message that may kill its process. Return None if none is due."""

    async def resolve(self, leased: LeasedMessage, disposition: Disposition) -> bool:
        """Delete an acked message, or make it due after the delay of a retry.

        Return False, and change nothing, if its lease has expired.
        """

    async def extend(self, messages: Sequence[LeasedMessage]) -> None:
        """Extend the leases of these messages by a visibility time-out from now."""

    async def release_all(self) -> None:
        """Return all messages that this consumer has leased to the queue, due at once and uncounted."""


@dataclass(frozen=True, slots=True)
class ConsumePolicy:
    """The intervals and time limits of a consumer."""

    poll: timedelta = timedelta(seconds=1)
    """The interval of polls, which find messages whose wake-up was lost."""
    visibility: timedelta = timedelta(seconds=30)
    drain: timedelta = timedelta(seconds=5)
    """The time that running handlers get when the consumer stops."""
    isolation: timedelta = timedelta(seconds=5)
    """The longest wait of a suspect for running handlers, and of other messages for the suspect."""


class ConsumeLoop:
    """Runs a receiver for the messages of a queue, at most `concurrency` at once.

    A suspect is delivered alone, after other messages, so that it cannot end their handlers.
    """

    def __init__(
        self, queue: Queue, receive: Receiver, concurrency: int, policy: ConsumePolicy, wake: asyncio.Event, ids: Ids
    ) -> None:
        self._queue = queue
        self._receive = receive
        self._free_slots = concurrency
        self._policy = policy
        self._wake = wake
        self._running: dict[asyncio.Task[None], LeasedMessage] = {}
        self._suspect: LeasedMessage | None = None
        self._isolated_until = 0.0
        """Loop time before which only the suspect is handled."""
        self._suspects_from: float | None = None
        """The time from which suspects are leased; None if there are none."""
        self._outages = Retries(_OUTAGE, ids)
        self._ids = ids

    async def run(self) -> None:
        """Consume until cancelled.

        Then wait for running handlers during `drain`, cancel the others, and release all messages.
        """
        extender = asyncio.create_task(self._extend_leases())
        try:
            while True:
                self._wake.clear()  # before the lease, so that no message during it is missed
                isolated_s = self._isolated_until - loop_time()
                wait_s = isolated_s if isolated_s > 0 else await self._start_due() if self._free_slots else None
                # Without a free slot only the end of a handler helps.
                await wait_for_event(self._wake, wait_s if self._free_slots else None)
        finally:
            await self._stop(extender)

    async def _start_due(self) -> float:
        """Lease due messages and start their handlers; return the seconds until the next lease."""
        poll_s = self._policy.poll.total_seconds()
        try:
            if self._suspect is None and self._suspects_from is not None and loop_time() >= self._suspects_from:
                return await self._start_suspect(self._suspects_from)
            batch = await self._queue.lease(self._free_slots)
        except BusUnavailable as error:
            delay_s = self._outages.count_failure_and_get_delay_s()
            _log.warning("bus_unavailable", error=str(error), retry_in_s=delay_s)
            return delay_s
        self._outages.reset()
        for leased in batch.messages:
            self._start(leased)
        if not batch.has_suspects:
            self._suspects_from = None
        elif self._suspects_from is None:
            self._suspects_from = loop_time() + poll_s
        if batch.next_in_s is None:
            return poll_s
        return min(poll_s, max(batch.next_in_s, 0.001))

    async def _start_suspect(self, due_at: float) -> float:
        """Start a suspect when no handler runs, or `isolation` after `due_at`.

        Return the seconds until the next lease.
        """
        poll_s, isolation_s = self._policy.poll.total_seconds(), self._policy.isolation.total_seconds()
        if self._running and loop_time() < due_at + isolation_s:
            return poll_s
        leased = await self._queue.lease_suspect()
        self._suspects_from = None
        """Loop time from which suspects are leased; None if there are none."""
        if leased is None:
            return 0
        _log.warning("suspect_message_isolated", attempt=leased.delivery.attempt, **log_fields(leased))
        self._suspect, self._isolated_until = leased, loop_time() + isolation_s
        self._start(leased)
        return poll_s

    def _start(self, leased: LeasedMessage) -> None:
        self._free_slots -= 1
        task = asyncio.create_task(self._handle(leased))
        self._running[task] = leased
        task.add_done_callback(self._running.pop)

    async def _handle(self, leased: LeasedMessage) -> None:
        try:
            disposition = await self._receive(leased.delivery)
        except Exception as error:  # noqa: BLE001 the message must be delivered again whatever a receiver raises
            delay = _FAILED_RECEIVER.delay(leased.delivery.attempt, self._ids.jitter())
            _log.error("receiver_failed", reason=describe_failure(error), **log_fields(leased))
            disposition = Retry(delay)
        self._free_slots += 1
        if self._suspect is leased:
            self._suspect, self._isolated_until = None, 0.0
        self._wake.set()  # the next lease then shares a commit with this result
        try:
            is_resolved = await self._queue.resolve(leased, disposition)
        except BusUnavailable as error:
            _log.warning("ack_failed", error=str(error), **log_fields(leased))
        else:
            if not is_resolved:
                _log.warning("message_lease_expired", attempt=leased.delivery.attempt, **log_fields(leased))

    async def _extend_leases(self) -> None:
        """Extend the leases of running handlers three times per visibility time-out, until cancelled."""
        while True:
            await asyncio.sleep(self._policy.visibility.total_seconds() / 3)
            if not self._running:
                continue
            try:
                await self._queue.extend(list(self._running.values()))
            except BusUnavailable as error:
                _log.warning("message_lease_extension_failed", held=len(self._running), error=str(error))

    async def _stop(self, extender: asyncio.Task[None]) -> None:
        try:
            if self._running:
                await asyncio.wait(list(self._running), timeout=self._policy.drain.total_seconds())
        finally:
            tasks = [extender, *self._running]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            try:
                await self._queue.release_all()
            except BusUnavailable as error:  # the visibility time-out releases them
                _log.warning("message_release_failed", error=str(error))


def loop_time() -> float:
    """Return the time of the running event loop's clock, in seconds."""
    return asyncio.get_running_loop().time()


def log_fields(leased: LeasedMessage) -> dict[str, str]:
    """Return the fields that log lines about a message have: its topic and the id of its subject.

    The message's data are not read.
    """
    delivery = leased.delivery
    return {"topic": delivery.topic, **log_context(delivery.message.attributes.get("ce-subject", ""))}
