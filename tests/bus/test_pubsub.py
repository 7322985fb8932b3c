from collections.abc import Callable
from datetime import timedelta

import grpc
import pytest
from google.pubsub_v1 import PublisherAsyncClient, SubscriberAsyncClient
from google.pubsub_v1.services.publisher.transports.grpc_asyncio import PublisherGrpcAsyncIOTransport
from google.pubsub_v1.services.subscriber.transports.grpc_asyncio import SubscriberGrpcAsyncIOTransport

from aex_models.events import TOPICS
from aex_runtime.bus.port import Ack, BusError, BusUnavailable, Delivery, Disposition, Message, Outgoing, Retry
from aex_runtime.bus.pubsub_topology import DEAD_LETTERS, all_topic_ids, subscription_specs
from tests.bus.contract import ONLY_WOKEN, PUBLISHER, SETTLEMENT, DurableBusContract, OpenBus
from tests.bus.messages import CHECKED, VERIFIED, Recorder, consuming, eventually, name_of, outgoing
from tests.emulators.emulators import Emulators

pytestmark = pytest.mark.emulator

ACK_DEADLINE_S = 10


class TestPubSubBus(DurableBusContract):
    @pytest.fixture
    def open_bus(self, open_pubsub: OpenBus) -> OpenBus:
        return open_pubsub


async def test_emulator_gets_the_declared_resources(emulators: Emulators, project: str, open_pubsub: OpenBus) -> None:
    await open_pubsub(ONLY_WOKEN).ping()
    async with grpc.aio.insecure_channel(emulators.pubsub.host) as channel:
        publisher = PublisherAsyncClient(transport=PublisherGrpcAsyncIOTransport(channel=channel))
        subscriber = SubscriberAsyncClient(transport=SubscriberGrpcAsyncIOTransport(channel=channel))
        topics = [topic.name async for topic in await publisher.list_topics(project=f"projects/{project}")]
        found = [each async for each in await subscriber.list_subscriptions(project=f"projects/{project}")]
    assert {name.rpartition("/")[2] for name in topics} == {*TOPICS, DEAD_LETTERS} == set(all_topic_ids(TOPICS))
    subscriptions = {each.name.rpartition("/")[2]: each for each in found}
    assert set(subscriptions) == {spec.id for spec in subscription_specs(TOPICS)}
    settled = subscriptions[f"{VERIFIED}.{SETTLEMENT}"]
    assert settled.topic.endswith(f"/{VERIFIED}")
    assert settled.ack_deadline_seconds == ACK_DEADLINE_S
    assert settled.dead_letter_policy.dead_letter_topic.endswith(f"/{DEAD_LETTERS}")
    assert settled.dead_letter_policy.max_delivery_attempts == 100
    assert not settled.filter
    assert not settled.enable_message_ordering


@pytest.mark.slow
async def test_failing_messages_delay_no_others_and_count_their_attempts(open_pubsub: OpenBus) -> None:
    attempts: dict[str, list[int]] = {}
    good: list[str] = []

    async def receive(delivery: Delivery) -> Disposition:
        name = name_of(delivery)
        if name.startswith("poison"):
            attempts.setdefault(name, []).append(delivery.attempt)
            return Retry(timedelta(seconds=1))
        good.append(name)
        return Ack()

    bus = open_pubsub(ONLY_WOKEN)
    async with consuming(bus, PUBLISHER, receive, concurrency=2):
        await bus.publish([outgoing(f"poison {number}") for number in range(20)])
        await eventually(lambda: len(attempts) == 20)
        for number in range(20):
            await bus.publish([outgoing(str(number))])
        await eventually(lambda: len(good) == 20)
        assert max(len(seen) for seen in attempts.values()) <= 3
        await eventually(lambda: all(len(seen) >= 4 for seen in attempts.values()))
    for seen in attempts.values():
        assert seen == list(range(1, len(seen) + 1))


async def test_attempts_survive_a_stopped_consumer(open_pubsub: OpenBus) -> None:
    later = Retry(timedelta(milliseconds=1))
    bus, recorder, after = open_pubsub(ONLY_WOKEN), Recorder(later, later, Retry(timedelta(hours=1))), Recorder()
    async with consuming(bus, PUBLISHER, recorder):
        await bus.publish([outgoing("a")])
        await recorder.got(3)
    async with consuming(bus, PUBLISHER, after):
        await after.got(1)
    assert [delivery.attempt for delivery in recorder.deliveries + after.deliveries] == [1, 2, 3, 4]


UNPUBLISHABLE: list[tuple[Callable[[], Message], str]] = [
    (lambda: Message({"ce-id": "x"}, b"x" * 10_000_000), r"a message of 100000\d\d bytes"),
    (lambda: Message({"ce-id": "x" * 1_025}, b"{}"), "'ce-id' of 1025 bytes"),
    (lambda: Message({"é" * 129: "x"}, b"{}"), "is no valid attribute name"),
    (lambda: Message({"google": "x"}, b"{}"), "is no valid attribute name"),
    (lambda: Message({"": "x"}, b"{}"), "is no valid attribute name"),
    (lambda: Message({"aex-to": SETTLEMENT}, b"{}"), "is no valid attribute name"),
    (lambda: Message({"ce-id": "\ud800"}, b"{}"), "not Unicode"),
    (lambda: Message({f"a{number}": "x" for number in range(99)}, b"{}"), "99 attributes"),
    (lambda: Message({}, b""), "needs data"),
]


async def test_call_with_a_message_beyond_the_limits_is_refused(open_pubsub: OpenBus) -> None:
    bus, recorder = open_pubsub(ONLY_WOKEN), Recorder()
    for spoil, text in UNPUBLISHABLE:
        with pytest.raises(BusError, match=text) as refusal:
            await bus.publish([outgoing("a"), Outgoing(CHECKED, spoil())])
        assert not isinstance(refusal.value, BusUnavailable)
    async with consuming(bus, PUBLISHER, recorder):
        await bus.publish([outgoing("b")])
        await recorder.got(1)
    assert recorder.names == ["b"]


async def test_messages_at_the_limits_are_published(open_pubsub: OpenBus) -> None:
    bus, recorder = open_pubsub(ONLY_WOKEN), Recorder()
    full = Message({"k" * 256: "v" * 1_024} | {f"a{number}": "" for number in range(97)}, b"x" * 5_100_000)
    async with consuming(bus, PUBLISHER, recorder):
        await bus.publish([Outgoing(CHECKED, full), Outgoing(CHECKED, full)])
        await bus.publish([outgoing(str(number)) for number in range(1_100)])
        await recorder.got(1_102)
    assert [delivery.message for delivery in recorder.deliveries[:2]] == [full, full]
