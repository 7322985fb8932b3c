"""The records of outbox and timers, and the types of event and timer handlers."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from functools import lru_cache
from typing import Any

from aex_models.canonical import sha256_hex
from aex_models.events import Event
from aex_models.frozen import Frozen, Instant
from aex_runtime.clock import epoch_micros
from aex_runtime.store.port import Collection, Index
from aex_runtime.store.table import Table


class OutboxEntry(Frozen):
    """An event that was committed with its cause. It is deleted once the event is published."""

    event: Event
    created_at: Instant
    tries: int = 0
    """Number of times that the event was parked before."""


@lru_cache(maxsize=16)
def outbox_table(service: str) -> Table[OutboxEntry]:
    """Return the table of a service's outbox."""
    collection = Collection(f"{service}-outbox", (Index(order="created_at"),))
    return Table(collection, OutboxEntry, lambda entry: {"created_at": epoch_micros(entry.created_at)})


class Timer(Frozen):
    """A durable action at a time. Its kind and its subject identify it."""

    kind: str
    subject: str
    due_at: Instant
    payload: dict[str, Any] = {}
    failures: int = 0
    """Failures of its handler since the timer was set."""
    traceparent: str | None = None
    """W3C trace context of the work that set the timer."""
    tracestate: str | None = None


def timer_key(kind: str, subject: str) -> str:
    """Return the document key of a timer, a hash, so that the keys of consecutive subjects spread."""
    return sha256_hex(f"{kind}\x1f{subject}".encode())[:40]


def timers_table(service: str) -> Table[Timer]:
    """Return the table of a service's timers."""
    collection = Collection(f"{service}-timers", (Index(order="due_at"),))
    return Table(collection, Timer, lambda timer: {"due_at": epoch_micros(timer.due_at)})


EventHandler = Callable[[Event], Awaitable[None]]
"""Handles an event. It is called at least once, in any order, and must be idempotent by event id and by state."""

TimerHandler = Callable[[Timer], Awaitable[None]]
"""Handles a timer. It is called at least once, and may set the same timer again."""


class Poison(Exception):
    """A permanent failure of a handler. Its event becomes a dead letter.

    A timer is retried after its longest wait instead. `reason` is stored and logged, so it names ids and codes, never
    content.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class RetryLater(Exception):
    """A failure of a handler that asks for a retry after `delay`. It counts as a failed delivery.

    `reason` is logged, so it quotes no content.
    """

    def __init__(self, delay: timedelta, reason: str) -> None:
        super().__init__(reason)
        self.delay = delay
        self.reason = reason
