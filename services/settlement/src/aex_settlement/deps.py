"""Collaborators of the handlers, such as store and clock, which each handler receives as `deps`."""

from collections.abc import Callable
from dataclasses import dataclass

from aex_runtime.clock import Clock
from aex_runtime.ids import Ids
from aex_runtime.store.port import Store
from aex_runtime.unit_of_work import UnitOfWork


@dataclass(frozen=True, slots=True)
class Deps:
    """Collaborators of the handlers: store, clock, and others."""

    unit_of_work: UnitOfWork
    store: Store
    clock: Clock
    ids: Ids
    notify_sealer: Callable[[], None]
    """Function that wakes the sealer of this process after a commit to the ledger."""
