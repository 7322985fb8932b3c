import pytest

from aex_runtime.bus.port import Message
from aex_runtime.bus.pubsub_marks import ADDRESSEE, ATTEMPTS, Unmarked, marked, unmarked

PLAIN = Message({"ce-id": "evt_1"}, b"{}")


def test_message_without_marks_stays_as_it_is() -> None:
    assert marked(PLAIN, None) == PLAIN
    assert unmarked(PLAIN.attributes, PLAIN.data) == Unmarked(PLAIN, None, 0)


@pytest.mark.parametrize("attempts", [0, 1, 99])
def test_marks_come_off_as_they_were_put_on(attempts: int) -> None:
    message = marked(PLAIN, "settlement", attempts)
    assert message != PLAIN
    assert unmarked(message.attributes, message.data) == Unmarked(PLAIN, "settlement", attempts)


@pytest.mark.parametrize("count", ["", "-1", "x", "١", "1" * 7, "1.5"])
def test_count_that_is_none_counts_as_no_attempt(count: str) -> None:
    attributes = {ADDRESSEE: "settlement", ATTEMPTS: count} | PLAIN.attributes
    assert unmarked(attributes, PLAIN.data) == Unmarked(PLAIN, "settlement", 0)
