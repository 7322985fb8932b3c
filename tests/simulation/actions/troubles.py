"""What somebody, or something, does to the platform: parts go away, clocks go wrong, poison is thrown in."""

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from aex_models.events import TOPICS, Event
from aex_runtime.bus.port import Message
from aex_runtime.bus.wire import encode
from tests.simulation.actions.machinery import guarded, replay
from tests.simulation.faults.bus import Flight

if TYPE_CHECKING:
    from tests.simulation.world import World

_PARTS = ("bus", "blobs", "governance")
_SKEWS_S = (-120, -30, -2, 0, 0, 2, 30, 120)


async def lose_a_part(world: "World") -> None:
    """A part is away until it comes back, or until somebody has waited for it long enough."""
    stores = tuple(f"store of {service.name}" for service in world.suite.services)
    world.suite.around.outages.away.add(world.dice.choice(_PARTS + stores))


async def bring_parts_back(world: "World") -> None:
    """Whatever was away is there again."""
    world.suite.around.outages.away.clear()


async def skew_a_clock(world: "World") -> None:
    """The clock of one machine is ahead of the others, or behind, or is set right."""
    world.dice.choice(world.suite.services).clock.skew = timedelta(seconds=world.dice.choice(_SKEWS_S))


async def replay_dead_letters(world: "World") -> None:
    """An operator has one service's dead letters delivered again."""
    service = world.dice.choice(world.suite.services)
    await guarded(service, replay(world, service))


async def throw_poison(world: "World") -> None:
    """A message that nobody can make anything of comes to a service, between all the others."""
    topic = world.dice.choice([each for each in TOPICS.values() if each.subscribers])
    service = world.dice.choice(topic.subscribers)
    make = world.dice.choice((_undecodable, _without_attributes, _of_wrong_data, _of_another_topic))
    message, event_id = make(world, topic.name)
    _throw(world, service, topic.name, message, event_id)


async def throw_a_strangers_end(world: "World") -> None:
    """A contract that nobody knows is cancelled, of a work that belongs to another one, or that nobody knows."""
    topic = "contract.cancelled"
    known = world.deals and world.dice.random() < 0.5
    work_id = world.dice.choice(world.deals).work_id if known else f"work_{world.dice.getrandbits(128):032x}"
    contract_id = f"ctr_{world.dice.getrandbits(128):032x}"
    event = _event(world, topic, contract_id, {"contract_id": contract_id, "work_id": work_id})
    _throw(world, "work-publisher", topic, encode(event), event.id)


def _throw(world: "World", service: str, topic: str, message: Message, event_id: str | None) -> None:
    world.seen.poison.add((service, event_id))
    world.suite.around.bus.flights.append(Flight(service, topic, message, counted=True))


def _event(world: "World", topic: str, subject: str, data: dict[str, Any]) -> Event:
    return Event(
        id=f"evt_poison_{world.dice.getrandbits(64):016x}",
        type=topic,
        source="/simulator",
        subject=subject,
        time=world.clock.now(),
        data=data,
    )


def _undecodable(world: "World", topic: str) -> tuple[Message, str | None]:
    whole = encode(_event(world, topic, "ctr_1", {}))
    data = world.dice.choice([b"", b"\xff\xfe", b'{"a": NaN}', b"[]", b'{"a": 1, "a": 2}', b"[" * 5_000])
    return Message(whole.attributes, data), None


def _without_attributes(world: "World", topic: str) -> tuple[Message, str | None]:
    attributes = encode(_event(world, topic, "ctr_1", {})).attributes
    del attributes[world.dice.choice(sorted(attributes))]
    return Message(attributes, b"{}"), None


def _of_wrong_data(world: "World", topic: str) -> tuple[Message, str | None]:
    wrong: list[dict[str, Any]] = [{}, {"contract_id": 7}, {"work_id": None}, {"award": {"terms": []}}]
    event = _event(world, topic, "ctr_1", world.dice.choice(wrong))
    return encode(event), event.id


def _of_another_topic(world: "World", topic: str) -> tuple[Message, str | None]:
    """Its type is not the topic that it came on."""
    other = world.dice.choice(sorted({*TOPICS, "contract.renamed"} - {topic}))
    event = _event(world, other, "ctr_1", json.loads('{"contract_id": "ctr_1"}'))
    return encode(event), event.id
