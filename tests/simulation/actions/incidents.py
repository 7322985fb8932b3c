"""Faults from outside: parts down, wrong clocks, invalid messages."""

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from aex_models.events import TOPICS, Event
from aex_runtime.bus.port import Message
from aex_runtime.bus.wire import encode_event
from tests.simulation.actions.machinery import replay, run_in_process
from tests.simulation.faults.bus import MessageInFlight

if TYPE_CHECKING:
    from tests.simulation.world import World

_PARTS = ("bus", "blobs", "governance")
_SKEWS_S = (-120, -30, -2, 0, 0, 2, 30, 120)


async def start_outage(world: "World") -> None:
    """Make a part unavailable until the outage is ended, or was waited for long enough."""
    stores = tuple(f"store of {service.name}" for service in world.suite.services)
    world.suite.environment.fate.away.add(world.dice.choice(_PARTS + stores))


async def end_outages(world: "World") -> None:
    """End the outages of all parts."""
    world.suite.environment.fate.away.clear()


async def skew_a_clock(world: "World") -> None:
    """Set the clock of one machine ahead, behind or right."""
    world.dice.choice(world.suite.services).clock.skew = timedelta(seconds=world.dice.choice(_SKEWS_S))


async def replay_dead_letters(world: "World") -> None:
    """Replay the dead letters of one service, as an operator does."""
    service = world.dice.choice(world.suite.services)
    await run_in_process(service, replay(world, service))


async def send_poison(world: "World") -> None:
    """Send an unprocessable message to a service."""
    topic = world.dice.choice([each for each in TOPICS.values() if each.subscribers])
    service = world.dice.choice(topic.subscribers)
    make = world.dice.choice((_undecodable, _without_attributes, _of_wrong_data, _of_another_topic))
    message, event_id = make(world, topic.name)
    _send(world, service, topic.name, message, event_id)


async def cancel_unknown_contract(world: "World") -> None:
    """Cancel an unknown contract, of a foreign or unknown work."""
    topic = "contract.cancelled"
    known = world.expected_contracts and world.dice.random() < 0.5
    work_id = (
        world.dice.choice(world.expected_contracts).work_id if known else f"work_{world.dice.getrandbits(128):032x}"
    )
    contract_id = f"ctr_{world.dice.getrandbits(128):032x}"
    event = _event(world, topic, contract_id, {"contract_id": contract_id, "work_id": work_id})
    _send(world, "work-publisher", topic, encode_event(event), event.id)


def _send(world: "World", service: str, topic: str, message: Message, event_id: str | None) -> None:
    world.seen.poison.add((service, event_id))
    world.suite.environment.bus.in_flight.append(MessageInFlight(service, topic, message, counted=True))


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
    complete = encode_event(_event(world, topic, "ctr_1", {}))
    data = world.dice.choice([b"", b"\xff\xfe", b'{"a": NaN}', b"[]", b'{"a": 1, "a": 2}', b"[" * 5_000])
    return Message(complete.attributes, data), None


def _without_attributes(world: "World", topic: str) -> tuple[Message, str | None]:
    attributes = encode_event(_event(world, topic, "ctr_1", {})).attributes
    del attributes[world.dice.choice(sorted(attributes))]
    return Message(attributes, b"{}"), None


def _of_wrong_data(world: "World", topic: str) -> tuple[Message, str | None]:
    wrong: list[dict[str, Any]] = [{}, {"contract_id": 7}, {"work_id": None}, {"award": {"terms": []}}]
    event = _event(world, topic, "ctr_1", world.dice.choice(wrong))
    return encode_event(event), event.id


def _of_another_topic(world: "World", topic: str) -> tuple[Message, str | None]:
    """Return a message whose type does not match its topic."""
    other = world.dice.choice(sorted({*TOPICS, "contract.renamed"} - {topic}))
    event = _event(world, other, "ctr_1", json.loads('{"contract_id": "ctr_1"}'))
    return encode_event(event), event.id
