import pytest

from aex_models.events import TOPICS
from aex_runtime.bus.port import Message
from aex_runtime.bus.pubsub_topology import (
    ACK_DEADLINE,
    ADDRESSEE,
    ATTEMPTS,
    DEAD_LETTERS,
    add_bus_attributes,
    all_topic_ids,
    split_bus_attributes,
    subscription_specs,
)

PLAIN = Message({"ce-id": "evt_1"}, b"{}")


def test_message_without_bus_attributes_is_unchanged() -> None:
    assert add_bus_attributes(PLAIN, None) == PLAIN
    assert split_bus_attributes(PLAIN.attributes, PLAIN.data) == (PLAIN, None, 0)


@pytest.mark.parametrize("attempts", [0, 1, 99])
def test_bus_attributes_are_split_as_added(attempts: int) -> None:
    message = add_bus_attributes(PLAIN, "settlement", attempts)
    assert message != PLAIN
    assert split_bus_attributes(message.attributes, message.data) == (PLAIN, "settlement", attempts)


@pytest.mark.parametrize("count", ["", "-1", "x", "١", "1" * 7, "1.5"])
def test_invalid_count_is_no_attempt(count: str) -> None:
    attributes = {ADDRESSEE: "settlement", ATTEMPTS: count} | PLAIN.attributes
    assert split_bus_attributes(attributes, PLAIN.data) == (PLAIN, "settlement", 0)


def test_each_subscriber_has_a_subscription() -> None:
    specs = list(subscription_specs(TOPICS))
    declared = {(topic.name, service) for topic in TOPICS.values() for service in topic.subscribers}
    assert {(spec.topic, spec.service) for spec in specs[:-1]} == declared
    assert [spec.id for spec in specs[:-1]] == [f"{spec.topic}.{spec.service}" for spec in specs[:-1]]
    assert len({spec.id for spec in specs}) == len(specs)
    assert {spec.dead_letter_topic for spec in specs[:-1]} == {DEAD_LETTERS}
    assert {spec.max_delivery_attempts for spec in specs[:-1]} == {100}
    assert (specs[-1].topic, specs[-1].service, specs[-1].dead_letter_topic) == (DEAD_LETTERS, None, None)
    assert {spec.ack_deadline for spec in specs} == {ACK_DEADLINE}


def test_names_are_valid_in_pubsub() -> None:
    names = [*all_topic_ids(TOPICS), *(spec.id for spec in subscription_specs(TOPICS))]
    assert all(3 <= len(name) <= 255 and name[0].isalpha() and not name.startswith("goog") for name in names)
