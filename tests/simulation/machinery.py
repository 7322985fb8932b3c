"""What the platform does by itself: messages fly, time passes, timers fire, what stayed behind is published."""

import asyncio
from collections.abc import Awaitable
from datetime import timedelta
from typing import TYPE_CHECKING

from aex_runtime.bus.port import Delivery, Retry
from aex_runtime.errors import Conflict
from aex_runtime.outbox_entry import outbox_table
from aex_settlement.deps import Deps
from aex_settlement.handlers.journal.rebuild_projections import rebuild
from aex_settlement.rules.projected import Projection
from aex_settlement.sealer import catch_up
from tests.simulation.faults import CALM, Crash, Flight
from tests.simulation.services import Service

if TYPE_CHECKING:
    from tests.simulation.world import World


async def deliver(world: "World") -> None:
    """One message, any of those in flight; perhaps it comes twice, perhaps later."""
    now = world.clock.now().timestamp()
    flights = [each for each in world.suite.around.bus.flights if each.due_at <= now]
    if not flights:
        return
    flight = world.dice.choice(flights)
    if world.dice.random() < world.faults.drop:
        flight.due_at = now + world.dice.uniform(1, 600)
        return
    await land(world, flight, twice=world.dice.random() < world.faults.duplicate)


async def land(world: "World", flight: Flight, *, twice: bool = False) -> None:
    """The message reaches its service."""
    service = world.suite.named(flight.service)
    world.trace.append(f"{flight.service} {flight.topic}")
    flight.attempt += 1
    delivery = Delivery(flight.topic, flight.message, 1)  # crashes here are the simulator's, not the message's
    disposition = await service.consumer.receive(delivery)
    if twice:
        await service.consumer.receive(delivery)
    if isinstance(disposition, Retry):
        flight.due_at = world.clock.now().timestamp() + disposition.delay.total_seconds()
        if world.faults == CALM:
            world.clock.advance(disposition.delay)
        return
    world.suite.around.bus.flights.remove(flight)


async def fire_timers(world: "World") -> None:
    """Time passes, and what came due fires."""
    world.clock.advance(timedelta(seconds=world.dice.choice([1, 30, 200, 4000])))
    for service in world.suite.services:
        await guarded(service, service.sweeper.fire_due(world.clock.now()))


async def set_clock_back(world: "World") -> None:
    """Clocks jump: what was due, or over, is so no longer."""
    world.clock.advance(-timedelta(seconds=world.dice.choice([1, 60, 5000, 90_000])))


async def deliver_again(world: "World") -> None:
    """A broker repeats messages that were done with long ago."""
    bus = world.suite.around.bus
    for old in world.dice.sample(bus.published, min(len(bus.published), 5)):
        bus.flights.append(Flight(old.service, old.topic, old.message))


async def sweep(world: "World") -> None:
    """The sweep publishes what stayed behind."""
    service = world.dice.choice(world.suite.services)
    await guarded(service, service.outbox.sweep())


async def pump(world: "World") -> None:
    """The pump publishes what was just committed."""
    service = world.dice.choice(world.suite.services)
    await guarded(service, service.outbox.flush())


async def seal(world: "World") -> None:
    """The sealer looks, whoever holds the lease: now and then two of them at once."""
    sealers = world.dice.choice([1, 1, 1, 2])
    await asyncio.gather(
        *(guarded(world.suite.settlement, catch_up(world.suite.settlement_deps)) for _ in range(sealers))
    )


async def rebuild_books(world: "World") -> None:
    """Somebody has a projection made anew, perhaps not to the end."""
    projection = world.dice.choice(list(Projection))
    await guarded(world.suite.settlement, _rebuilt(world.suite.settlement_deps, projection))


async def _rebuilt(deps: Deps, projection: Projection) -> None:
    try:
        await rebuild(deps, [projection], lambda _done, _total: None)
    except Conflict:
        return  # the lease of one that crashed is not over yet


async def settle(world: "World") -> None:
    """Much time passes: everything is published, everything lands, every timer fires."""
    world.clock.advance(timedelta(hours=6))
    for service in world.suite.services:
        await guarded(service, service.outbox.flush())
        await guarded(service, service.outbox.sweep())
        await guarded(service, service.sweeper.fire_due(world.clock.now()))
    while world.suite.around.bus.flights:
        await land(world, world.suite.around.bus.flights[0])
    await catch_up(world.suite.settlement_deps)


async def nothing_moves(world: "World") -> bool:
    """Whether no message flies, no timer is set, and nothing waits to be published."""
    services = world.suite.services
    waiting = [await service.sweeper.next_due() for service in services]
    unpublished = [await outbox_table(each.name).find(each.store, order="created_at") for each in services]
    return not (world.suite.around.bus.flights or any(waiting) or any(unpublished))


async def guarded(service: Service, work: Awaitable[object]) -> None:
    """Do it; a crash restarts the service."""
    try:
        await work
    except Crash:
        service.restart()
