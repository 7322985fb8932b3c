"""What a rebuild is given, and the lease that it holds."""

from dataclasses import dataclass
from typing import Protocol

from aex_runtime.clock import Clock
from aex_runtime.held_lease import HeldLease
from aex_runtime.ids import Ids
from aex_runtime.store.port import Store


class Tell(Protocol):
    """Told what is under way, how much of it is done, and of how much: estimated until it is over."""

    def __call__(self, stage: str, done: int, total: int, /) -> None: ...


@dataclass(frozen=True, slots=True)
class Rebuilder:
    """A rebuild's collaborators, all injected. It needs no rules: the log says what was decided."""

    store: Store
    clock: Clock
    ids: Ids
    tell: Tell


@dataclass(frozen=True, slots=True)
class Rebuild:
    """A rebuild under way."""

    by: Rebuilder
    held: HeldLease
