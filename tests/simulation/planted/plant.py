"""Where a bug can be planted: around a service's store, its bus, its handlers and what verification is given."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aex_runtime.bus.port import Bus
from aex_runtime.handlers import EventHandler, TimerHandler
from aex_runtime.store.port import Store
from aex_verification.deps import Deps

if TYPE_CHECKING:
    from tests.simulation.services import Service

Handlers = Mapping[str, EventHandler]
Timers = Mapping[str, TimerHandler]


def _sound_store(_: str, store: Store, __: random.Random) -> Store:
    return store


def _sound_bus(_: str, bus: Bus) -> Bus:
    return bus


def _sound_handlers(_: "Service", handlers: Handlers) -> Handlers:
    return handlers


def _sound_timers(_: "Service", timers: Timers) -> Timers:
    return timers


def _sound_deps(deps: Deps) -> Deps:
    return deps


@dataclass(frozen=True, slots=True)
class Plant:
    """One bug, as parts that take the place of sound ones, or stand around them."""

    name: str
    story: str
    """What goes wrong."""
    store: Callable[[str, Store, random.Random], Store] = _sound_store
    """From a service's name, its store and the dice."""
    bus: Callable[[str, Bus], Bus] = _sound_bus
    """From the name of the service that publishes."""
    handlers: Callable[["Service", Handlers], Handlers] = _sound_handlers
    timers: Callable[["Service", Timers], Timers] = _sound_timers
    verification: Callable[[Deps], Deps] = _sound_deps


NOTHING = Plant("nothing", "everything is as in production")
