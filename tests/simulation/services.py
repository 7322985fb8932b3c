"""The four services as the simulator runs them: real handlers, outbox, consumers and timers over faulty stores."""

import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal

from aex_models.events import Event, UnreadableEvent
from aex_runtime.blobs.port import Blobs
from aex_runtime.bus.consumer import OUTAGES, Consumer
from aex_runtime.clock import SetClock
from aex_runtime.deadletters import DeadLetters
from aex_runtime.handlers import EventHandler, Poison, RetryLater, TimerHandler
from aex_runtime.leases import Leases
from aex_runtime.outbox import OutboxPump
from aex_runtime.store.port import Store
from aex_runtime.timer_entry import Timer
from aex_runtime.timers import TimerSweeper
from aex_runtime.unit_of_work import Committed, UnitOfWork
from tests.simulation.engine.blobs import SimulatedBlobs
from tests.simulation.engine.chronicle import Chronicle, telling
from tests.simulation.engine.dice import ActDice, ActIds
from tests.simulation.engine.interleaving import InterleavingStore, Pauses
from tests.simulation.engine.processes import Process, ProcessBus, ProcessStore
from tests.simulation.faults.blobs import FaultyBlobs
from tests.simulation.faults.bus import SimulatedBus
from tests.simulation.faults.clock import SkewedClock
from tests.simulation.faults.fate import Crash, Fate, Odds, Outages
from tests.simulation.faults.store import FaultyStore
from tests.simulation.planted.plant import NOTHING, Plant

Subscriptions = Mapping[str, EventHandler]


@dataclass(slots=True)
class Around:
    """What all four share."""

    clock: SetClock
    dice: random.Random
    ids: ActIds
    pauses: Pauses
    odds: Callable[[], Odds]
    bus: SimulatedBus
    blobs: Blobs
    fee_rate: Decimal
    watched: Callable[[Store], Store]
    """Puts something between each service and its store."""
    plant: Plant
    fate: Fate
    outages: Outages
    chronicle: Chronicle


class Lasting:
    """What a service has that outlives its processes, one for all replicas."""

    def __init__(self, name: str, around: Around) -> None:
        self.memory = InterleavingStore(around.pauses, around.dice)
        """What is there, whatever a service sees of it."""
        self.memory.tell = telling(around.chronicle, name)
        self.store = around.watched(FaultyStore(f"store of {name}", around.fate, self.memory))
        self.planted = around.plant.store(name, self.store, around.dice)
        """What the service itself sees."""


class Service:
    """One replica of one service: a store that lasts, and a process that can be restarted."""

    def __init__(self, name: str, replica: int, around: Around, lasting: Lasting) -> None:
        self.name = name
        self.replica = replica
        self.around = around
        self.clock = SkewedClock(around.clock)
        self.memory = lasting.memory
        self.process = Process(self._remember_nothing)
        self.store: Store = ProcessStore(lasting.planted, self.process)
        self.bus = around.plant.bus(name, ProcessBus(around.bus, self.process, around.pauses))
        self.ids = around.ids
        self.leases = self._new_leases()
        self.dead_letters = DeadLetters(name, self.store, self.clock)
        self.unit_of_work = UnitOfWork(name, self.store, self.clock, self._committed)
        self.outbox = self._new_outbox()
        self.subscriptions: Subscriptions = {}
        self.timers: Mapping[str, TimerHandler] = {}
        self.boot: Callable[[], None] = lambda: None
        """Wires it, with a memory of its own."""

    def wire(self, subscriptions: Subscriptions, timers: Mapping[str, TimerHandler] | None = None) -> None:
        """Give the process its handlers."""
        around = self.around
        self.subscriptions = self._noted(around.plant.handlers(self, subscriptions))
        self.timers = self._noted_timers(around.plant.timers(self, timers or {}))
        self.consumer = Consumer(self.name, self.bus, self.dead_letters, self.clock, self.ids, self.subscriptions)
        self.sweeper = TimerSweeper(self.name, self.store, self.leases, self.clock, self.timers, self.ids)

    def restart(self) -> None:
        """What was in memory alone is gone, and so is all that was under way."""
        self.process.end()

    def _remember_nothing(self) -> None:
        self.leases = self._new_leases()
        self.outbox = self._new_outbox()
        self.boot()

    def _new_leases(self) -> Leases:
        return Leases(self.name, self.store, self.clock, holder=f"{self.name}-{self.replica}")

    def _new_outbox(self) -> OutboxPump:
        return OutboxPump(self.name, self.store, self.bus, self.clock, self.ids, self.leases)

    def _noted(self, handlers: Subscriptions) -> Subscriptions:
        """The same handlers; what they return from is written down."""
        handled = self.around.chronicle.handled

        def noting(handle: EventHandler) -> EventHandler:
            async def handle_and_note(event: Event) -> None:
                with self._astonished(f"{event.type} {event.subject}"):
                    await handle(event)
                handled.add((self.name, event.id))

            return handle_and_note

        return {topic: noting(handler) for topic, handler in handlers.items()}

    def _noted_timers(self, handlers: Mapping[str, TimerHandler]) -> Mapping[str, TimerHandler]:
        def noting(handle: TimerHandler) -> TimerHandler:
            async def fire_and_note(timer: Timer) -> None:
                with self._astonished(f"timer {timer.kind} {timer.subject}"):
                    await handle(timer)

            return fire_and_note

        return {kind: noting(handler) for kind, handler in handlers.items()}

    @contextmanager
    def _astonished(self, what: str) -> Iterator[None]:
        """Whoever runs handlers tries again whatever was raised: a defect would show as a delay alone."""
        try:
            yield
        except (Crash, *OUTAGES, Poison, RetryLater, UnreadableEvent):
            raise
        except Exception as error:
            self.around.chronicle.astonished.append(f"{self.name}: {what}: {type(error).__name__} {error}")
            raise

    def _committed(self, committed: Committed) -> None:
        self.outbox.notify(committed.events)


def around(
    dice: ActDice,
    clock: SetClock,
    odds: Callable[[], Odds],
    watched: Callable[[Store], Store],
    plant: Plant = NOTHING,
) -> Around:
    """A world for one run."""
    pauses, outages = Pauses(dice), Outages()
    fate = Fate(dice, odds, outages)
    return Around(
        clock=clock,
        dice=dice,
        ids=ActIds(),
        pauses=pauses,
        odds=odds,
        bus=SimulatedBus(fate),
        blobs=FaultyBlobs(fate, SimulatedBlobs(pauses)),
        fee_rate=Decimal("0.05"),
        watched=watched,
        plant=plant,
        fate=fate,
        outages=outages,
        chronicle=Chronicle(),
    )
