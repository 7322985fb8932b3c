"""The timer's record: what to do when a moment comes, durable like everything else."""

from typing import Any

from aex_models.canonical import sha256_hex
from aex_models.frozen import Frozen, Instant
from aex_runtime.clock import epoch_micros
from aex_runtime.store.port import Collection, Index
from aex_runtime.store.table import Table


class Timer(Frozen):
    """A kind of work that is due for a subject. One for each pair."""

    kind: str
    subject: str
    due_at: Instant
    payload: dict[str, Any] = {}
    failures: int = 0
    """How often its handler failed, since it was set."""
    traceparent: str | None = None
    """W3C trace context of whatever set it: what it causes belongs there."""
    tracestate: str | None = None


def timer_key(kind: str, subject: str) -> str:
    """The key of the one timer for this pair; hashed, so that subjects made in order spread."""
    return sha256_hex(f"{kind}\x1f{subject}".encode())[:40]


def timers_table(service: str) -> Table[Timer]:
    """A service's timers."""
    collection = Collection(f"{service}-timers", (Index(order="due_at"),))
    return Table(collection, Timer, lambda timer: {"due_at": epoch_micros(timer.due_at)})
