import pytest

from aex_runtime.bus.port import Outgoing
from aex_runtime.bus.pubsub import build_publish_requests
from tests.bus.messages import CHECKED, VERIFIED, outgoing


def _plain(messages: list[Outgoing]) -> list[tuple[Outgoing, int]]:
    return [(message, 0) for message in messages]


def test_messages_of_a_topic_share_a_request() -> None:
    messages = [outgoing("a"), outgoing("b", VERIFIED), outgoing("c")]
    requests = build_publish_requests("p", _plain(messages))
    assert [(request.topic, len(request.messages)) for request in requests] == [
        (f"projects/p/topics/{CHECKED}", 2),
        (f"projects/p/topics/{VERIFIED}", 1),
    ]
    assert [message.attributes["ce-id"] for message in requests[0].messages] == ["a", "c"]


@pytest.mark.parametrize(
    ("bytes_of", "limit", "messages"),
    [
        ([2] * 2_001, 9_000_000, [1_000, 1_000, 1]),
        ([400] * 9, 1_000, [2, 2, 2, 2, 1]),
        ([2, 2_000, 2], 1_000, [1, 1, 1]),
        ([], 1_000, []),
    ],
    ids=["number", "size", "larger than a request", "nothing"],
)
def test_requests_are_bounded_in_number_and_size(bytes_of: list[int], limit: int, messages: list[int]) -> None:
    sent = [outgoing(str(number), data=b"x" * size) for number, size in enumerate(bytes_of)]
    requests = build_publish_requests("p", _plain(sent), limit)
    assert [len(request.messages) for request in requests] == messages
    for request in requests:
        assert len(request.messages) == 1 or type(request).pb(request).ByteSize() <= limit + 100
