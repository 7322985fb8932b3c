import asyncio
from datetime import timedelta
from functools import partial

from structlog.testing import capture_logs

from aex_models.events import ContractCancelled, Event
from aex_runtime.background import Background
from aex_runtime.bus.memory import MemoryBus
from aex_runtime.bus.port import Message, Outgoing
from aex_runtime.clock import SetClock
from aex_runtime.ids import RandomIds
from aex_runtime.records import Timer
from aex_runtime.store.memory import MemoryStore
from aex_runtime.store.port import StoreUnavailable
from aex_runtime.unit_of_work import Unit, UnitOfWork
from tests.bus.messages import eventually
from tests.libs.runtime.background import LoopClock, eventually_async, in_virtual_time
from tests.parts.measured import RecordedMeasures

SERVICE = "work-publisher"


class Service:
    def __init__(self) -> None:
        self.store, self.clock = MemoryStore(), LoopClock()
        self.bus = MemoryBus(self.clock)
        self.measured = RecordedMeasures()
        self.work = Background(SERVICE, self.store, self.bus, self.clock, RandomIds(), measures=self.measured)
        self.uow = UnitOfWork(SERVICE, self.store, self.clock, self.work.on_commit)
        self.seen: list[str] = []

    async def handle(self, event: Event) -> None:
        self.seen.append(event.subject)

    async def emit(self, subject: str) -> None:
        async def fn(unit: Unit) -> None:
            unit.emit("contract.cancelled", subject, ContractCancelled(contract_id=subject, work_id="w"))

        await self.uow.run(fn)

    async def gauge(self, name: str) -> float:
        (spec,) = (each for each in self.work.gauges() if each.name == name)
        return await spec.read()

    async def is_positive(self, name: str) -> bool:
        return await self.gauge(name) > 0


@in_virtual_time
async def test_crashed_task_is_restarted_counted_and_ends_with_the_others() -> None:
    service = Service()
    lives: list[str] = []

    async def piece() -> None:
        lives.append("began")
        if len(lives) == 1:
            raise RuntimeError("CANARY")
        try:
            await asyncio.sleep(3_600)
        finally:
            lives.append("ended")

    with capture_logs() as lines:
        async with service.work.run_tasks({}, {}, tasks={"sealer": piece}):
            await eventually(lambda: len(lives) == 2)
            assert service.measured.counted["aex_background_restarts_total",] == 1
    assert lives == ["began", "began", "ended"]
    assert [line["piece"] for line in lines if line["event"] == "background_crashed"] == ["sealer"]
    assert "CANARY" not in str(lines)


@in_virtual_time
async def test_timer_set_by_an_event_fires() -> None:
    service = Service()
    fired: list[Timer] = []

    async def sets(event: Event) -> None:
        async def fn(unit: Unit) -> None:
            unit.set_timer("remind", event.subject, unit.now + timedelta(milliseconds=20))

        await service.uow.run(fn)

    async def fires(timer: Timer) -> None:
        fired.append(timer)

    async with service.work.run_tasks({"contract.cancelled": sets}, {"remind": fires}):
        await service.emit("ctr_1")
        await eventually(lambda: bool(fired))
    assert [timer.subject for timer in fired] == ["ctr_1"]


@in_virtual_time
async def test_events_of_a_stopping_handler_are_published() -> None:
    service = Service()
    inside = asyncio.Event()

    async def slow(event: Event) -> None:
        inside.set()
        await asyncio.sleep(0.2)
        await service.emit(f"{event.subject}-follows")

    async with service.work.run_tasks({"contract.cancelled": slow}, {}):
        await service.emit("ctr_1")
        await inside.wait()
    async with service.work.run_tasks({"contract.cancelled": service.handle}, {}):
        await eventually(lambda: service.seen == ["ctr_1-follows"])


@in_virtual_time
async def test_gauges_measure_waiting_timers_and_events() -> None:
    service = Service()
    for name in ("aex_outbox_oldest_seconds", "aex_timers_overdue_seconds", "aex_dead_letters"):
        assert await service.gauge(name) == 0
    a_minute_ago = SetClock(service.clock.now() - timedelta(minutes=1))

    async def fn(unit: Unit) -> None:
        unit.set_timer("remind", "ctr_1", unit.now)

    await UnitOfWork(SERVICE, service.store, a_minute_ago, service.work.on_commit).run(fn)
    await service.emit("ctr_1")
    await asyncio.sleep(5)
    assert await service.gauge("aex_timers_overdue_seconds") == 65
    assert await service.gauge("aex_outbox_oldest_seconds") == 5


@in_virtual_time
async def test_failing_events_are_measured_until_one_is_handled() -> None:
    service = Service()
    away = True

    async def handle(event: Event) -> None:
        if away:
            raise StoreUnavailable("locked")
        await service.handle(event)

    async with service.work.run_tasks({"contract.cancelled": handle}, {}):
        assert await service.gauge("aex_events_failing_seconds") == 0
        await service.emit("ctr_1")
        await eventually_async(partial(service.is_positive, "aex_events_failing_seconds"))
        away = False
        await eventually(lambda: service.seen == ["ctr_1"])
        await asyncio.sleep(0)
        assert await service.gauge("aex_events_failing_seconds") == 0


@in_virtual_time
async def test_dead_letter_is_counted_and_fails_no_longer() -> None:
    service = Service()
    async with service.work.run_tasks({"contract.cancelled": service.handle}, {}):
        await service.bus.publish([Outgoing("contract.cancelled", Message({}, b"not an event"))])
        await eventually_async(partial(service.is_positive, "aex_dead_letters"))
        assert await service.gauge("aex_events_failing_seconds") == 0
    assert await service.gauge("aex_dead_letters") == 1
