from collections.abc import Sequence
from datetime import timedelta

import pytest

from aex_runtime.bus.memory import MemoryBus
from aex_runtime.bus.port import Ack, BusUnavailable, Delivery, Disposition, Message, Outgoing
from aex_runtime.clock import SetClock
from aex_runtime.deadletters import DeadLetters, NoSuchDeadLetter
from aex_runtime.store.port import Store
from tests.bus.messages import VERIFIED, Recorder
from tests.libs.runtime.background import START, RecordingBus, later

MESSAGE = Message({"ce-id": "evt_1", "ce-subject": "ctr_1"}, b'{"x": 1}\xff\x00')


def letters_of(store: Store, clock: SetClock, service: str = "settlement") -> DeadLetters:
    return DeadLetters(service, store, clock)


async def test_dead_letter_keeps_the_message_as_it_was_on_the_wire(each_store: Store) -> None:
    letters = letters_of(each_store, SetClock(START))
    key = await letters.record(VERIFIED, MESSAGE, "it makes no sense", "evt_1", "ctr_1")
    letter, wire = await letters.get(key)
    assert (letter.topic, letter.event_id, letter.subject, letter.count) == (VERIFIED, "evt_1", "ctr_1", 1)
    assert letter.reason == "it makes no sense"
    assert Message(wire.attributes, wire.data) == MESSAGE


async def test_event_that_dies_again_is_one_letter_with_a_count(each_store: Store) -> None:
    clock = SetClock(START)
    letters = letters_of(each_store, clock)
    first = await letters.record(VERIFIED, MESSAGE, "first", "evt_1", "ctr_1")
    clock.advance(timedelta(hours=1))
    again = await letters.record(VERIFIED, MESSAGE, "second", "evt_1", "ctr_1")
    letter, _ = await letters.get(again)
    assert first == again
    assert (letter.count, letter.reason) == (2, "second")
    assert (letter.first_at, letter.last_at) == (START, later(hours=1))
    assert await letters.count() == 1


async def test_unreadable_messages_are_told_apart_by_their_bytes(each_store: Store) -> None:
    letters = letters_of(each_store, SetClock(START))
    for data in (b"a", b"b", b"a"):
        await letters.record(VERIFIED, Message({"ce-id": "evt_1"}, data), "unreadable", None, None)
    assert await letters.count() == 2


async def test_letters_are_listed_newest_first_in_pages(each_store: Store) -> None:
    clock = SetClock(START)
    letters = letters_of(each_store, clock)
    for number in range(5):
        await letters.record(VERIFIED, MESSAGE, str(number), f"evt_{number}", None)
        clock.advance(timedelta(seconds=1))
    pages, after = [], None
    while True:
        page = await letters.list(2, after)
        pages.append([letter.reason for letter in page.items])
        after = page.next_after
        if after is None:
            break
    assert pages == [["4", "3"], ["2", "1"], ["0"]]


async def test_services_do_not_see_each_others_letters(each_store: Store) -> None:
    clock = SetClock(START)
    await letters_of(each_store, clock).record(VERIFIED, MESSAGE, "x", "evt_1", None)
    assert await letters_of(each_store, clock, "governance").count() == 0


async def test_replayed_letter_goes_to_its_service_alone_and_is_forgotten(each_store: Store) -> None:
    bus, letters = MemoryBus(), letters_of(each_store, SetClock(START))
    key = await letters.record(VERIFIED, MESSAGE, "x", "evt_1", "ctr_1")
    await letters.replay(key, bus)
    settlement, governance = Recorder(), Recorder()
    await bus.deliver_due("settlement", [VERIFIED], settlement)
    await bus.deliver_due("governance", [VERIFIED], governance)
    assert [delivery.message for delivery in settlement.deliveries] == [MESSAGE]
    assert governance.deliveries == []
    assert await letters.count() == 0
    with pytest.raises(NoSuchDeadLetter):
        await letters.replay(key, bus)


async def test_letter_stays_where_the_bus_is_down(each_store: Store) -> None:
    bus, letters = RecordingBus(), letters_of(each_store, SetClock(START))
    bus.down = True
    key = await letters.record(VERIFIED, MESSAGE, "x", "evt_1", "ctr_1")
    with pytest.raises(BusUnavailable, match="down"):
        await letters.replay(key, bus)
    assert await letters.count() == 1


async def test_replayed_message_that_dies_at_once_is_not_forgotten(each_store: Store) -> None:
    letters = letters_of(each_store, SetClock(START))
    key = await letters.record(VERIFIED, MESSAGE, "x", "evt_1", "ctr_1")

    async def die(delivery: Delivery) -> Disposition:
        await letters.record(delivery.topic, delivery.message, "again", "evt_1", "ctr_1")
        return Ack()

    class DeliversWhilePublishing(MemoryBus):
        async def publish(self, messages: Sequence[Outgoing]) -> None:
            await super().publish(messages)
            await self.deliver_due("settlement", [VERIFIED], die)

    await letters.replay(key, DeliversWhilePublishing())
    letter, _ = await letters.get(key)
    assert (letter.reason, letter.count) == ("again", 2)


async def test_long_reason_is_cut(each_store: Store) -> None:
    letters = letters_of(each_store, SetClock(START))
    letter, _ = await letters.get(await letters.record(VERIFIED, MESSAGE, "x" * 5_000, "evt_1", None))
    assert len(letter.reason) == 1_000
