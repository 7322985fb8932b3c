"""A process that sets and fires timers, and handlers that record them."""

from collections.abc import Callable
from datetime import datetime, timedelta

from aex_models.backoff import Backoff
from aex_runtime.clock import Clock
from aex_runtime.ids import SeededIds
from aex_runtime.leases import Leases
from aex_runtime.records import Timer, TimerHandler, timer_key, timers_table
from aex_runtime.store.port import Store
from aex_runtime.timers import TimerPolicy, TimerSweeper
from aex_runtime.unit_of_work import Unit, UnitOfWork
from tests.libs.runtime.background import SERVICE

KIND = "deadline"
POLICY = TimerPolicy(backoff=Backoff(timedelta(seconds=1), timedelta(minutes=5)))
RARE_POLL = TimerPolicy(poll=timedelta(minutes=10))
"""Policy whose poll is so rare that it finds no timer of a test."""


class Firings:
    def __init__(self, then: TimerHandler | None = None) -> None:
        self.fired: list[Timer] = []
        self.running = 0
        self.most_running = 0
        self._then = then

    async def __call__(self, timer: Timer) -> None:
        self.fired.append(timer)
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        try:
            if self._then is not None:
                await self._then(timer)
        finally:
            self.running -= 1

    def are(self, number: int) -> bool:
        return len(self.fired) == number

    @property
    def subjects(self) -> list[str]:
        return [timer.subject for timer in self.fired]


def fail_with(error: Exception) -> TimerHandler:
    async def handler(_: Timer) -> None:
        raise error

    return handler


class Process:
    def __init__(
        self, store: Store, clock: Clock, handler: TimerHandler, name: str = "a", policy: TimerPolicy = POLICY
    ) -> None:
        leases = Leases(SERVICE, store, clock, name)
        self.store = store
        self.sweeper = TimerSweeper(SERVICE, store, leases, clock, {KIND: handler}, SeededIds(1), policy)
        self.unit_of_work = UnitOfWork(
            SERVICE, store, clock, lambda committed: self.sweeper.notify_committed(committed.timers)
        )

    async def set(self, subject: str, due_at: datetime, kind: str = KIND) -> None:
        await self.run(lambda unit: unit.set_timer(kind, subject, due_at))

    async def cancel(self, subject: str) -> None:
        await self.run(lambda unit: unit.cancel_timer(KIND, subject))

    async def run(self, step: Callable[[Unit], None]) -> None:
        async def unit(unit: Unit) -> None:
            step(unit)

        await self.unit_of_work.run(unit)

    async def timer(self, subject: str, kind: str = KIND) -> Timer | None:
        stored = await timers_table(SERVICE).get(self.store, timer_key(kind, subject))
        return stored.record if stored else None
