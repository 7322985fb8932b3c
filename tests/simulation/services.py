"""The four services in the simulator: real handlers, outbox, consumers and timers over faulty stores."""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from decimal import Decimal
from typing import TypeVar

from aex_models.events import Event, UnreadableEvent
from aex_runtime.bus.consumer import OUTAGES, Consumer
from aex_runtime.clock import Clock, SetClock
from aex_runtime.deadletters import DeadLetters
from aex_runtime.leases import Leases
from aex_runtime.outbox import OutboxPump
from aex_runtime.records import EventHandler, Poison, RetryLater, Timer, TimerHandler
from aex_runtime.store.port import Store
from aex_runtime.timers import TimerSweeper
from aex_runtime.unit_of_work import Committed, UnitOfWork
from tests.simulation.engine.commit_log import CommitLog, commit_reporter
from tests.simulation.engine.dice import ActDice, ActIds
from tests.simulation.engine.interleaving import InterleavingStore, Pauses
from tests.simulation.engine.processes import Process, ProcessBus, ProcessStore
from tests.simulation.faults.blobs import SimulatedBlobs
from tests.simulation.faults.bus import SimulatedBus
from tests.simulation.faults.fate import Crash, Fate, FaultRates
from tests.simulation.faults.store import FaultyStore
from tests.simulation.planted.plant import NOTHING, Plant

Subscriptions = Mapping[str, EventHandler]
N = TypeVar("N", Event, Timer)


class Environment:
    """The parts that the services of one run share: bus, blobs, dice, commit log and faults.

    `watched` wraps the store of each service.
    """

    fee_rate = Decimal("0.05")

    def __init__(
        self,
        dice: ActDice,
        clock: SetClock,
        rates: Callable[[], FaultRates],
        watched: Callable[[Store], Store],
        plant: Plant = NOTHING,
    ) -> None:
        self.dice, self.clock, self.watched, self.plant = dice, clock, watched, plant
        self.ids, self.pauses, self.commit_log = ActIds(), Pauses(dice), CommitLog()
        self.fate = Fate(dice, rates)
        self.bus, self.blobs = SimulatedBus(self.fate), SimulatedBlobs(self.pauses, self.fate)


class SkewedClock:
    """The clock of one machine, which differs from the common clock by `skew`."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.skew = timedelta()

    def now(self) -> datetime:
        return self._clock.now() + self.skew


class DurableState:
    """State of a service that outlives its processes, shared by its replicas."""

    def __init__(self, name: str, environment: Environment) -> None:
        self.memory = InterleavingStore(environment.pauses, environment.dice)
        """Actual content of the store, without faults."""
        self.memory.report = commit_reporter(environment.commit_log, name)
        self.store = environment.watched(FaultyStore(f"store of {name}", environment.fate, self.memory))
        self.planted = environment.plant.store(name, self.store, environment.dice)
        """Store as the service sees it, with faults and the planted bug."""


class Service:
    """A replica of a service: a durable store, and a process that can be restarted."""

    def __init__(self, name: str, replica: int, environment: Environment, durable_states: DurableState) -> None:
        self.name = name
        self.replica = replica
        self.environment = environment
        self.clock = SkewedClock(environment.clock)
        self.memory = durable_states.memory
        self.process = Process(self._remember_nothing)
        self.store: Store = ProcessStore(durable_states.planted, self.process)
        self.bus = ProcessBus(environment.bus, self.process, environment.pauses)
        self.ids = environment.ids
        self.leases = self._new_leases()
        self.dead_letters = DeadLetters(name, self.store, self.clock)
        self.unit_of_work = UnitOfWork(name, self.store, self.clock, self._committed)
        self.outbox = self._new_outbox()
        self.subscriptions: Subscriptions = {}
        self.timers: Mapping[str, TimerHandler] = {}
        self.boot: Callable[[], None] = lambda: None
        """Wires it, with a memory of its own."""

    def wire(self, subscriptions: Subscriptions, timers: Mapping[str, TimerHandler] | None = None) -> None:
        """Connect the process to its event handlers and timer handlers."""
        environment = self.environment
        handled = environment.commit_log.handled
        planted, planted_timers = environment.plant.handlers(self, subscriptions), environment.plant.timers
        self.subscriptions = self._note_handled(planted, lambda event: handled.add((self.name, event.id)))
        self.timers = self._note_handled(planted_timers(self, timers or {}), lambda _: None)
        self.consumer = Consumer(self.name, self.bus, self.dead_letters, self.clock, self.ids, self.subscriptions)
        self.sweeper = TimerSweeper(self.name, self.store, self.leases, self.clock, self.timers, self.ids)

    def restart(self) -> None:
        """Discard everything in memory and in progress."""
        self.process.end()

    def _remember_nothing(self) -> None:
        self.leases = self._new_leases()
        self.outbox = self._new_outbox()
        self.boot()

    def _new_leases(self) -> Leases:
        return Leases(self.name, self.store, self.clock, holder=f"{self.name}-{self.replica}")

    def _new_outbox(self) -> OutboxPump:
        return OutboxPump(self.name, self.store, self.bus, self.clock, self.ids, self.leases)

    def _note_handled(
        self, handlers: Mapping[str, Callable[[N], Awaitable[None]]], note: Callable[[N], None]
    ) -> dict[str, Callable[[N], Awaitable[None]]]:
        """Return the handlers wrapped so that `note` gets each item they have handled without an error."""

        def noting(handle: Callable[[N], Awaitable[None]]) -> Callable[[N], Awaitable[None]]:
            async def handle_and_note(handled: N) -> None:
                with self._report_unexpected(str(handled)):
                    await handle(handled)
                note(handled)

            return handle_and_note

        return {name: noting(handler) for name, handler in handlers.items()}

    @contextmanager
    def _report_unexpected(self, what: str) -> Iterator[None]:
        """Report unexpected errors of the block, which retries would hide, and raise them."""
        try:
            yield
        except (Crash, *OUTAGES, Poison, RetryLater, UnreadableEvent):
            raise
        except Exception as error:
            self.environment.commit_log.unexpected_errors.append(f"{self.name}: {what}: {type(error).__name__} {error}")
            raise

    def _committed(self, committed: Committed) -> None:
        self.outbox.notify_committed(committed.queued)
