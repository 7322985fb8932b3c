from aex_runtime.bus.port import Outgoing
from aex_runtime.bus.pubsub import publish_requests
from tests.bus.messages import CHECKED, VERIFIED, outgoing


def _plain(messages: list[Outgoing]) -> list[tuple[Outgoing, int]]:
    return [(message, 0) for message in messages]


def test_messages_of_a_topic_share_a_request() -> None:
    messages = [outgoing("a"), outgoing("b", VERIFIED), outgoing("c")]
    requests = publish_requests("p", _plain(messages))
    assert [(request.topic, len(request.messages)) for request in requests] == [
        (f"projects/p/topics/{CHECKED}", 2),
        (f"projects/p/topics/{VERIFIED}", 1),
    ]
    assert [message.attributes["ce-id"] for message in requests[0].messages] == ["a", "c"]


def test_request_holds_a_thousand_messages_at_most() -> None:
    requests = publish_requests("p", _plain([outgoing(str(number)) for number in range(2_001)]))
    assert [len(request.messages) for request in requests] == [1_000, 1_000, 1]


def test_request_stays_below_the_limit_of_its_size() -> None:
    requests = publish_requests("p", _plain([outgoing(str(number), data=b"x" * 400) for number in range(9)]), 1_000)
    assert [len(request.messages) for request in requests] == [2, 2, 2, 2, 1]
    assert all(type(request).pb(request).ByteSize() <= 1_000 + 100 for request in requests)


def test_message_larger_than_a_request_has_one_to_itself() -> None:
    messages = [outgoing("a"), outgoing("b", data=b"x" * 2_000), outgoing("c")]
    assert [len(request.messages) for request in publish_requests("p", _plain(messages), 1_000)] == [1, 1, 1]


def test_nothing_to_publish_needs_no_request() -> None:
    assert publish_requests("p", []) == []
