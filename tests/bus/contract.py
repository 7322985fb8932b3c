import asyncio
from collections.abc import Callable
from datetime import timedelta

import pytest

from aex_runtime.bus.consume_loop import ConsumePolicy
from aex_runtime.bus.port import Ack, Bus, BusError, BusUnavailable, Delivery, Disposition, Message, Outgoing, Retry
from tests.bus.messages import CHECKED, TIMEOUT_S, VERIFIED, Recorder, consuming, eventually, hangs, outgoing, stop

PUBLISHER, GOVERNANCE, SETTLEMENT = "work-publisher", "governance", "settlement"
OpenBus = Callable[[ConsumePolicy], Bus]
"""Opens the bus under test; a second call opens the same queues, as another process does."""

ONLY_WOKEN = ConsumePolicy(poll=timedelta(minutes=10))
"""Messages are found by wake-ups alone."""
IMPATIENT = ConsumePolicy(
    poll=timedelta(seconds=1), visibility=timedelta(milliseconds=1_500), drain=timedelta(milliseconds=50)
)


class BusContract:
    async def test_message_arrives_as_it_was_published(self, open_bus: OpenBus) -> None:
        bus, recorder = open_bus(ONLY_WOKEN), Recorder()
        message = Message({"ce-id": "evt_1", "ce-subject": "wörk ∑", "empty": ""}, '{"text": "Grüße\\u0000"}'.encode())
        async with consuming(bus, PUBLISHER, recorder):
            await bus.publish([Outgoing(CHECKED, message)])
            await recorder.got(1)
        assert recorder.deliveries == [Delivery(CHECKED, message, attempt=1)]

    async def test_message_published_before_anyone_consumes_is_kept(self, open_bus: OpenBus) -> None:
        bus, recorder = open_bus(ONLY_WOKEN), Recorder()
        await bus.publish([outgoing("a"), outgoing("b")])
        async with consuming(bus, PUBLISHER, recorder, concurrency=1):
            await recorder.got(2)
        assert recorder.names == ["a", "b"]

    async def test_every_subscriber_gets_its_own_copy(self, open_bus: OpenBus) -> None:
        bus = open_bus(ONLY_WOKEN)
        recorders = {service: Recorder() for service in (SETTLEMENT, PUBLISHER, GOVERNANCE)}
        await bus.publish([outgoing("replayed", VERIFIED, subscriber=SETTLEMENT), outgoing("b", VERIFIED)])
        for service, recorder in recorders.items():
            async with consuming(bus, service, recorder, [VERIFIED]):
                await recorder.got(2 if service == SETTLEMENT else 1)
        assert [sorted(each.names) for each in recorders.values()] == [["b", "replayed"], ["b"], ["b"]]

    async def test_undeclared_names_are_refused_and_nothing_is_published(self, open_bus: OpenBus) -> None:
        bus, recorder = open_bus(ONLY_WOKEN), Recorder()
        with pytest.raises(BusError, match=r"work\.invented"):
            await bus.publish([outgoing("a"), outgoing("b", "work.invented")])
        with pytest.raises(BusError, match="settlement does not subscribe"):
            await bus.publish([outgoing("a"), outgoing("b", subscriber=SETTLEMENT)])
        with pytest.raises(BusError, match="settlement does not subscribe"):
            await bus.consume(SETTLEMENT, [CHECKED], Recorder(), 1)
        async with consuming(bus, PUBLISHER, recorder):
            await bus.publish([outgoing("c"), outgoing("no subscriber", "settlement.completed")])
            await recorder.got(1)
        assert recorder.names == ["c"]

    async def test_consumer_gets_its_topics_alone(self, open_bus: OpenBus) -> None:
        bus, verified, checked = open_bus(ONLY_WOKEN), Recorder(), Recorder()
        await bus.publish([outgoing("a"), outgoing("b", VERIFIED), outgoing("c")])
        async with consuming(bus, PUBLISHER, verified, [VERIFIED]):
            await verified.got(1)
        async with consuming(bus, PUBLISHER, checked, [CHECKED]):
            await checked.got(2)
        assert (verified.names, checked.names) == (["b"], ["a", "c"])

    async def test_published_message_wakes_an_idle_consumer(self, open_bus: OpenBus) -> None:
        bus, recorder = open_bus(ONLY_WOKEN), Recorder()
        async with consuming(bus, PUBLISHER, recorder):
            for number in range(20):
                await bus.publish([outgoing(str(number))])
                await recorder.got(number + 1)
        assert recorder.names == [str(number) for number in range(20)]

    async def test_retry_follows_its_delay_and_counts_if_it_says_so(self, open_bus: OpenBus) -> None:
        soon, later = timedelta(milliseconds=1), timedelta(milliseconds=200)
        bus, recorder = open_bus(ONLY_WOKEN), Recorder(Retry(later), Retry(soon, counted=False), Retry(soon))
        async with consuming(bus, PUBLISHER, recorder):
            await bus.publish([outgoing("a")])
            await recorder.got(4)
        assert [delivery.attempt for delivery in recorder.deliveries] == [1, 2, 2, 3]
        assert recorder.times[1] - recorder.times[0] >= 0.2

    async def test_retried_message_that_is_due_comes_before_fresh_ones(self, open_bus: OpenBus) -> None:
        bus, recorder = open_bus(ONLY_WOKEN), Recorder(Retry(timedelta()), takes=timedelta(milliseconds=5))
        await bus.publish([outgoing("failed"), outgoing("b"), outgoing("c"), outgoing("d")])
        async with consuming(bus, PUBLISHER, recorder, concurrency=1):
            await recorder.got(5)
        assert recorder.names.index("failed", 1) < recorder.names.index("d")

    async def test_message_of_a_failed_receiver_is_redelivered(self, open_bus: OpenBus) -> None:
        attempts: list[int] = []

        async def receive(delivery: Delivery) -> Disposition:
            attempts.append(delivery.attempt)
            if delivery.attempt == 1:
                raise RuntimeError("the receiver is broken")
            return Ack()

        bus = open_bus(ONLY_WOKEN)
        async with consuming(bus, PUBLISHER, receive):
            await bus.publish([outgoing("a")])
            await eventually(lambda: len(attempts) == 2)
        assert attempts == [1, 2]

    async def test_no_more_than_the_allowed_number_runs_at_once(self, open_bus: OpenBus) -> None:
        bus, gate = open_bus(ONLY_WOKEN), asyncio.Event()
        recorder = Recorder(gate=gate)
        await bus.publish([outgoing(str(number)) for number in range(12)])
        async with consuming(bus, PUBLISHER, recorder, concurrency=3):
            await recorder.got(3)
            await asyncio.sleep(0.05)  # a fourth would come
            gate.set()
            await recorder.got(12)
        assert recorder.most_running == 3

    async def test_two_consumers_share_the_work_and_ack_nothing_twice(self, open_bus: OpenBus) -> None:
        first, second = (Recorder(takes=timedelta(milliseconds=5)) for _ in range(2))
        bus, replica = open_bus(ONLY_WOKEN), open_bus(ONLY_WOKEN)
        async with consuming(bus, PUBLISHER, first), consuming(replica, PUBLISHER, second):
            published = 0
            async with asyncio.timeout(TIMEOUT_S):  # publish until both consumers got some
                while published < 60 or not (first.deliveries and second.deliveries):
                    await bus.publish([outgoing(str(published))])
                    published += 1
                    await asyncio.sleep(0)
            await eventually(lambda: len(first.deliveries) + len(second.deliveries) >= published)
        assert sorted(map(int, first.names + second.names)) == list(range(published))

    async def test_long_handler_keeps_its_message(self, open_bus: OpenBus) -> None:
        bus, replica = open_bus(IMPATIENT), open_bus(IMPATIENT)
        slow, idle = Recorder(takes=2 * IMPATIENT.visibility), Recorder()
        async with consuming(bus, PUBLISHER, slow):
            await bus.publish([outgoing("a")])
            await slow.got(1)
            async with consuming(replica, PUBLISHER, idle):
                await eventually(lambda: slow.running == 0)
                await asyncio.sleep(0.05)
        assert (slow.names, idle.names) == (["a"], [])

    async def test_stopped_consumer_lets_running_handlers_finish(self, open_bus: OpenBus) -> None:
        bus, gate, after = open_bus(ONLY_WOKEN), asyncio.Event(), Recorder()
        recorder = Recorder(gate=gate)
        await bus.publish([outgoing("a"), outgoing("b")])
        async with consuming(bus, PUBLISHER, recorder, concurrency=1) as task:
            await recorder.got(1)
            stopping = asyncio.create_task(stop(task))
            await asyncio.sleep(0.01)
            assert (recorder.running, stopping.done()) == (1, False)
            gate.set()
            await stopping
        assert recorder.running == 0
        async with consuming(bus, PUBLISHER, after):
            await after.got(1)
        assert (recorder.names, after.names) == (["a"], ["b"])

    async def test_stopped_consumer_releases_unfinished_messages_uncounted(self, open_bus: OpenBus) -> None:
        bus, replica, hanging, after = open_bus(IMPATIENT), open_bus(ONLY_WOKEN), hangs(), Recorder()
        await bus.publish([outgoing(str(number)) for number in range(20)])
        async with consuming(bus, PUBLISHER, hanging, concurrency=2) as task:
            await hanging.got(2)
            await stop(task)
        async with consuming(replica, PUBLISHER, after):
            await after.got(20)
        assert sorted(map(int, after.names)) == list(range(20))
        assert {delivery.attempt for delivery in after.deliveries} == {1}
        assert {frozenset(delivery.message.attributes) for delivery in after.deliveries} == {frozenset({"ce-id"})}

    async def test_consumer_stopped_at_any_moment_loses_nothing(self, open_bus: OpenBus) -> None:
        bus, recorder = open_bus(ONLY_WOKEN), Recorder()
        await bus.publish([outgoing(str(number)) for number in range(40)])
        for pause_ms in range(12):
            async with consuming(bus, PUBLISHER, recorder, concurrency=3):
                await asyncio.sleep(pause_ms / 4_000)
        async with consuming(bus, PUBLISHER, recorder):
            await eventually(lambda: len(set(recorder.names)) == 40)
        assert len(recorder.names) == 40

    async def test_publish_that_was_cancelled_leaves_the_bus_usable(self, open_bus: OpenBus) -> None:
        bus, recorder = open_bus(ONLY_WOKEN), Recorder()
        for number in range(10):
            await stop(asyncio.create_task(bus.publish([outgoing(f"cancelled {number}")])))
        async with consuming(bus, PUBLISHER, recorder):
            await bus.publish([outgoing("a")])
            await eventually(lambda: "a" in recorder.names)
        await bus.ping()


class DurableBusContract(BusContract):
    """Further promises of a bus with connections."""

    async def test_closed_bus_is_unavailable(self, open_bus: OpenBus) -> None:
        bus = open_bus(ONLY_WOKEN)
        await bus.close()
        for call in (bus.ping(), bus.publish([outgoing("a")]), bus.consume(PUBLISHER, [CHECKED], Recorder(), 1)):
            with pytest.raises(BusUnavailable, match="closed"):
                await call
