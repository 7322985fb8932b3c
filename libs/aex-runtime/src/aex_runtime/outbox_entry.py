"""The outbox's record: an event that waits to be published."""

from functools import lru_cache

from aex_models.events import Event
from aex_models.frozen import Frozen, Instant
from aex_runtime.clock import epoch_micros
from aex_runtime.store.port import Collection, Index
from aex_runtime.store.table import Table


class OutboxEntry(Frozen):
    """An event committed with its cause; removed once the bus has it."""

    event: Event
    created_at: Instant


@lru_cache(maxsize=16)
def outbox_table(service: str) -> Table[OutboxEntry]:
    """A service's outbox."""
    collection = Collection(f"{service}-outbox", (Index(order="created_at"),))
    return Table(collection, OutboxEntry, lambda entry: {"created_at": epoch_micros(entry.created_at)})
