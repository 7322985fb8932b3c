"""Points at which a bug can be planted: store, bus, handlers and inputs of verification."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aex_runtime.records import EventHandler, TimerHandler
from aex_runtime.store.port import Store
from aex_verification.deps import Deps

if TYPE_CHECKING:
    from tests.simulation.services import Service

Handlers = Mapping[str, EventHandler]
Timers = Mapping[str, TimerHandler]


@dataclass(frozen=True, slots=True)
class Plant:
    """A bug, as parts that replace or wrap correct ones."""

    name: str
    story: str
    """Description of the bug."""
    store: Callable[[str, Store, random.Random], Store] = lambda _service, store, _dice: store
    """Function from service name, store and dice to the store with the bug."""
    handlers: Callable[["Service", Handlers], Handlers] = lambda _service, handlers: handlers
    timers: Callable[["Service", Timers], Timers] = lambda _service, timers: timers
    verification: Callable[[Deps], Deps] = lambda deps: deps


NOTHING = Plant("nothing", "everything is as in production")
