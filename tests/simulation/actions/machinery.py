"""Actions of the platform: deliveries, time, timers, and publication of leftover events."""

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from aex_governance.handlers.fold_log import Rebuilder
from aex_governance.handlers.rebuild import rebuild_projections
from aex_runtime.bus.consumer import OUTAGES, ConsumerPolicy
from aex_runtime.bus.port import Delivery, Retry
from aex_runtime.deadletters import NoSuchDeadLetter
from aex_runtime.errors import Conflict
from aex_runtime.leases import LeaseLost
from aex_runtime.records import outbox_table
from aex_settlement.deps import Deps
from aex_settlement.handlers.journal.rebuild import rebuild_ledger_projections
from aex_settlement.rules.projections import Projection
from aex_settlement.sealer import LEASE as SEALER
from aex_settlement.sealer import seal_and_project
from tests.simulation.faults.bus import MessageInFlight
from tests.simulation.faults.fate import CALM, Crash
from tests.simulation.promises.derived import check_governance_projections, check_settlement_projections
from tests.simulation.promises.invariants import check_handlers
from tests.simulation.services import Service

if TYPE_CHECKING:
    from tests.simulation.world import World


async def deliver(world: "World") -> None:
    """Deliver some messages, chosen at random among those in flight."""
    for _ in range(world.dice.choice([1, 1, 2, 4])):
        await _deliver_one(world)


async def _deliver_one(world: "World") -> None:
    """Deliver one message: now, later or twice, at random."""
    now, fate = world.clock.now().timestamp(), world.suite.environment.fate
    in_flight = [each for each in world.suite.environment.bus.in_flight if each.due_at <= now]
    if not in_flight:
        return
    pending = world.dice.choice(in_flight)
    if fate.happens("drop"):
        pending.due_at = now + world.dice.uniform(1, 600)
        return
    await hand_over_message(world, pending, twice=fate.happens("duplicate"))


async def hand_over_message(world: "World", pending: MessageInFlight, *, twice: bool = False) -> None:
    """Deliver a message to its service. `twice`: to all replicas at once, and once more to one."""
    service = world.suite.named(pending.service)
    world.trace.append(f"{pending.service} {pending.topic}")
    pending.attempt += 1
    delivery = Delivery(pending.topic, pending.message, _counted_attempt(world, pending))
    if twice:
        both = [partial(_received, replica, delivery) for replica in world.replicas_of(pending.service)]
        await world.suite.environment.pauses.together(both)
    with service.process.inside():
        disposition = await service.consumer.handle_delivery(delivery)
    if isinstance(disposition, Retry):
        pending.due_at = world.clock.now().timestamp() + disposition.delay.total_seconds()
        if world.faults == CALM:
            world.clock.advance(disposition.delay)
        return
    if pending in world.suite.environment.bus.in_flight:  # it may have reached another replica meanwhile
        world.suite.environment.bus.in_flight.remove(pending)


async def _received(service: Service, delivery: Delivery) -> None:
    with service.process.inside():
        await service.consumer.handle_delivery(delivery)


def _counted_attempt(world: "World", pending: MessageInFlight) -> int:
    """Count a failed delivery, but not one that ended in a crash of the simulator."""
    if pending.counted:
        return pending.attempt
    fate = world.suite.environment.fate
    return 1 + ConsumerPolicy().max_unended if fate.happens("worn_out") else 1


async def fire_timers(world: "World") -> None:
    """Advance the time and fire the timers that are due."""
    world.clock.advance(timedelta(seconds=world.dice.choices([1, 30, 200, 4000], [4, 4, 3, 1])[0]))
    for service in world.suite.services:
        await run_in_process(service, service.sweeper.fire_due(service.clock.now()))


async def set_clock_back(world: "World") -> None:
    """Set all clocks back, so that due times are in the future again."""
    world.clock.advance(-timedelta(seconds=world.dice.choice([1, 60, 5000, 90_000])))


async def redeliver(world: "World") -> None:
    """Deliver messages again that were acked long ago, as a broker may."""
    bus = world.suite.environment.bus
    for old in world.dice.sample(bus.published, min(len(bus.published), 5)):
        bus.in_flight.append(MessageInFlight(old.service, old.topic, old.message))


async def sweep(world: "World") -> None:
    """Run the sweep, which publishes events that the pumps left in the outbox."""
    service = world.dice.choice(world.suite.services)
    await run_in_process(service, service.outbox.publish_overdue_from_store())


async def pump(world: "World") -> None:
    """Run the pumps, which publish events that were just committed."""
    for service in world.suite.services:
        await run_in_process(service, service.outbox.publish_waiting())


async def seal(world: "World") -> None:
    """Run a sealer under its lease, or two at once that both assume the lease."""
    if world.dice.random() < 0.5:
        await _seal_under_lease(world.suite.settlement, world.suite.settlement_deps)
        return
    sealers = world.dice.choice([1, 2])
    await asyncio.gather(
        *(run_in_process(world.suite.settlement, seal_and_project(world.suite.settlement_deps)) for _ in range(sealers))
    )


async def _seal_under_lease(service: Service, deps: Deps) -> None:
    """Seal while the lease lasts. After its loss nothing may be sealed."""

    async def work() -> None:
        lease = await service.leases.acquire(SEALER, timedelta(seconds=10))
        if lease is not None:
            await seal_and_project(deps, partial(service.leases.require_lease, lease=lease))

    with suppress(LeaseLost):
        await run_in_process(service, work())


async def rebuild_books(world: "World") -> None:
    """Rebuild a projection, perhaps not to the end; this may repair an earlier defect."""
    await check_settlement_projections(world)
    projection = world.dice.choice(list(Projection))
    await run_in_process(world.suite.settlement, _rebuilt(world, world.suite.settlement_deps, projection))


async def rebuild_memory(world: "World") -> None:
    """Rebuild governance's projections, perhaps not to the end; this may repair an earlier defect."""
    await check_governance_projections(world)
    service = world.suite.governance
    by = Rebuilder(service.store, service.clock, service.ids, lambda *_: _dawdle(world))
    with suppress(Conflict, LeaseLost):
        await run_in_process(service, rebuild_projections(by))


def _dawdle(world: "World") -> None:
    """Let time pass during a rebuild, sometimes longer than its lease lasts."""
    if world.dice.random() < 0.1:
        world.clock.advance(timedelta(seconds=world.dice.choice([5, 20, 40])))


async def _rebuilt(world: "World", deps: Deps, projection: Projection) -> None:
    try:
        await rebuild_ledger_projections(deps, [projection], lambda _done, _total: _dawdle(world))
    except (Conflict, LeaseLost):
        return  # the lease of one that crashed is not over yet; or it is, on a clock that jumped, for one at work


async def settle(world: "World") -> None:
    """Publish all events, deliver all messages and fire all timers, until none are left."""
    world.clock.advance(timedelta(hours=6))
    for service in world.suite.services:
        await replay(world, service)
        await run_in_process(service, service.outbox.publish_waiting())
        await run_in_process(service, service.outbox.publish_overdue_from_store())
        await run_in_process(service, service.sweeper.fire_due(service.clock.now()))
    while world.suite.environment.bus.in_flight:
        await hand_over_message(world, world.suite.environment.bus.in_flight[0])
        check_handlers(world)  # before what always fails is tried for ever
    await seal_and_project(world.suite.settlement_deps)


async def is_quiescent(world: "World") -> bool:
    """Return whether no message, no timer and no unpublished event is left."""
    services = world.suite.services
    waiting = [await service.sweeper.next_due_at() for service in services]
    unpublished = [await outbox_table(each.name).find(each.store, order="created_at") for each in services]
    return not (world.suite.environment.bus.in_flight or any(waiting) or any(unpublished))


async def replay(world: "World", service: Service) -> None:
    """Replay a service's dead letters, except the invalid messages that the simulator sent."""
    for letter in (await service.dead_letters.list(100, None)).items:
        if (service.name, letter.event_id) not in world.seen.poison:
            with suppress(NoSuchDeadLetter):  # another operator was quicker
                await service.dead_letters.replay(letter.id, service.bus)


async def run_in_process(service: Service, work: Awaitable[object]) -> None:
    """Run the work in the service's process. A crash restarts the process; an outage ends the work."""
    with suppress(Crash, *OUTAGES), service.process.inside():
        await work
