from collections.abc import Sequence
from datetime import timedelta

import pytest

from aex_runtime.bus.memory import MemoryBus
from aex_runtime.bus.port import BusUnavailable, Message, Outgoing
from aex_runtime.clock import SetClock
from aex_runtime.deadletters import DeadLetters, NoSuchDeadLetter
from aex_runtime.store.port import Store
from tests.bus.messages import VERIFIED, Recorder, consuming
from tests.libs.runtime.background import START, RecordingBus, later

MESSAGE = Message({"ce-id": "evt_1", "ce-subject": "ctr_1"}, b'{"x": 1}\xff\x00')


def letters_of(store: Store, clock: SetClock, service: str = "settlement") -> DeadLetters:
    return DeadLetters(service, store, clock)


async def test_dead_letter_keeps_the_message_as_it_was_on_the_wire(store: Store) -> None:
    letters = letters_of(store, SetClock(START))
    key = await letters.store_or_count(VERIFIED, MESSAGE, "x" * 5_000, "evt_1", "ctr_1")
    letter, wire = await letters.get(key)
    assert (letter.topic, letter.event_id, letter.subject, letter.count) == (VERIFIED, "evt_1", "ctr_1", 1)
    assert letter.reason == "x" * 1_000
    assert Message(wire.attributes, wire.data) == MESSAGE


async def test_repeated_dead_letter_raises_the_count(each_store: Store) -> None:
    clock = SetClock(START)
    letters = letters_of(each_store, clock)
    first = await letters.store_or_count(VERIFIED, MESSAGE, "first", "evt_1", "ctr_1")
    clock.advance(timedelta(hours=1))
    second = await letters.store_or_count(VERIFIED, MESSAGE, "second", "evt_1", "ctr_1")
    letter, _ = await letters.get(second)
    assert first == second
    assert (letter.count, letter.reason) == (2, "second")
    assert (letter.first_at, letter.last_at) == (START, later(hours=1))
    assert await letters.count() == 1


async def test_undecodable_messages_of_a_service_differ_by_their_bytes(store: Store) -> None:
    letters = letters_of(store, SetClock(START))
    for data in (b"a", b"b", b"a"):
        await letters.store_or_count(VERIFIED, Message({"ce-id": "evt_1"}, data), "unreadable", None, None)
    assert await letters.count() == 2
    assert await letters_of(store, SetClock(START), "governance").count() == 0


async def test_letters_are_listed_newest_first_in_pages(each_store: Store) -> None:
    clock = SetClock(START)
    letters = letters_of(each_store, clock)
    for number in range(5):
        await letters.store_or_count(VERIFIED, MESSAGE, str(number), f"evt_{number}", None)
        clock.advance(timedelta(seconds=1))
    pages, page = [], await letters.list(2)
    while page.next_after is not None:
        pages.append([letter.reason for letter in page.items])
        page = await letters.list(2, page.next_after)
    pages.append([letter.reason for letter in page.items])
    assert pages == [["4", "3"], ["2", "1"], ["0"]]


async def test_replayed_letter_reaches_its_service_alone(each_store: Store) -> None:
    bus, letters = MemoryBus(), letters_of(each_store, SetClock(START))
    key = await letters.store_or_count(VERIFIED, MESSAGE, "x", "evt_1", "ctr_1")
    await letters.replay(key, bus)
    settlement, governance = Recorder(), Recorder()
    async with (
        consuming(bus, "settlement", settlement, [VERIFIED]),
        consuming(bus, "governance", governance, [VERIFIED]),
    ):
        await settlement.got(1)
    assert [delivery.message for delivery in settlement.deliveries] == [MESSAGE]
    assert governance.deliveries == []
    assert await letters.count() == 0
    with pytest.raises(NoSuchDeadLetter):
        await letters.replay(key, bus)


async def test_letter_remains_while_the_bus_is_down(store: Store) -> None:
    bus, letters = RecordingBus(), letters_of(store, SetClock(START))
    bus.down = True
    key = await letters.store_or_count(VERIFIED, MESSAGE, "x", "evt_1", "ctr_1")
    with pytest.raises(BusUnavailable, match="down"):
        await letters.replay(key, bus)
    assert await letters.count() == 1


async def test_replayed_message_that_dies_at_once_is_not_forgotten(store: Store) -> None:
    letters = letters_of(store, SetClock(START))
    key = await letters.store_or_count(VERIFIED, MESSAGE, "x", "evt_1", "ctr_1")

    class DeliversWhilePublishing(MemoryBus):
        async def publish(self, messages: Sequence[Outgoing]) -> None:
            for each in messages:
                await letters.store_or_count(each.topic, each.message, "repeated", "evt_1", "ctr_1")

    await letters.replay(key, DeliversWhilePublishing())
    letter, _ = await letters.get(key)
    assert (letter.reason, letter.count) == ("repeated", 2)
