from aex_models.events import TOPICS
from aex_runtime.bus.pubsub_topology import ACK_DEADLINE, DEAD_LETTERS, subscription_specs, topic_ids


def test_every_declared_topic_and_the_backstop_is_there() -> None:
    assert topic_ids(TOPICS) == (*TOPICS, DEAD_LETTERS)


def test_every_subscriber_has_a_subscription_of_its_own_and_the_backstop_keeps_what_it_gets() -> None:
    specs = list(subscription_specs(TOPICS))
    declared = {(topic.name, service) for topic in TOPICS.values() for service in topic.subscribers}
    assert {(spec.topic, spec.service) for spec in specs[:-1]} == declared
    assert [spec.id for spec in specs[:-1]] == [f"{spec.topic}.{spec.service}" for spec in specs[:-1]]
    assert len({spec.id for spec in specs}) == len(specs)
    assert {spec.dead_letter_topic for spec in specs[:-1]} == {DEAD_LETTERS}
    assert {spec.max_delivery_attempts for spec in specs[:-1]} == {100}
    assert (specs[-1].topic, specs[-1].service, specs[-1].dead_letter_topic) == (DEAD_LETTERS, None, None)
    assert {spec.ack_deadline for spec in specs} == {ACK_DEADLINE}


def test_names_are_ones_that_pubsub_takes() -> None:
    names = [*topic_ids(TOPICS), *(spec.id for spec in subscription_specs(TOPICS))]
    assert all(3 <= len(name) <= 255 and name[0].isalpha() and not name.startswith("goog") for name in names)
