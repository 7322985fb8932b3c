from typing import Any

import pytest
from pydantic import BaseModel

from aex_outcomes import AgentContext
from aex_outcomes.lifecycle.messages import append_answer_if_missing, append_feedback
from tests.libs.outcomes.lifecycle.loops import loop_of

QUERY_MESSAGE = {"role": "user", "content": "q"}


def calls(*ids: str) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": [{"id": each, "type": "function"} for each in ids]}


def result(call: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call, "content": "found"}


@pytest.mark.parametrize(
    ("messages", "call"),
    [
        ([QUERY_MESSAGE], None),
        ([QUERY_MESSAGE, {"role": "assistant", "content": "a"}], None),
        ([QUERY_MESSAGE, calls("one")], "one"),
        ([QUERY_MESSAGE, calls("one", "two")], "two"),
        ([QUERY_MESSAGE, calls("one", "two"), result("two")], "one"),
        ([QUERY_MESSAGE, calls("one"), result("one")], None),
        ([QUERY_MESSAGE, calls("one"), result("one"), calls("two")], "two"),
        ([QUERY_MESSAGE, calls("one"), result("one"), {"role": "assistant", "content": "a"}], None),
        (
            [QUERY_MESSAGE, calls("one"), {"role": "user", "content": "again"}, {"role": "assistant", "content": "a"}],
            None,
        ),
        ([QUERY_MESSAGE, {"role": "assistant", "tool_calls": "odd"}], None),
        ([QUERY_MESSAGE, {"role": "assistant", "tool_calls": [{"id": 5}, "odd"]}], None),
    ],
)
def test_feedback_answers_the_last_open_tool_call_of_the_turn_or_comes_from_the_user(
    messages: list[dict[str, Any]], call: str | None
) -> None:
    *before, last = append_feedback(messages, "<told/>")
    assert before == messages
    role = {"role": "user"} if call is None else {"role": "tool", "tool_call_id": call}
    assert last == {**role, "content": "<told/>"}


def test_the_answer_is_added_unless_the_producer_has_added_one() -> None:
    given = [QUERY_MESSAGE]
    assert append_answer_if_missing(given, given, {"ü": 1}) == [
        QUERY_MESSAGE,
        {"role": "assistant", "content": '{"ü": 1}'},
    ]
    assert append_answer_if_missing(given, given, "plain") == [QUERY_MESSAGE, {"role": "assistant", "content": "plain"}]
    own = {"role": "assistant", "content": "mine"}
    assert append_answer_if_missing(given, [*given, own], "plain") == [QUERY_MESSAGE, own]


def test_a_producer_may_shorten_the_conversation() -> None:
    old = {"role": "assistant", "content": "old"}
    assert append_answer_if_missing([QUERY_MESSAGE, old], [old], "new") == [
        old,
        {"role": "assistant", "content": "new"},
    ]


def test_message_objects_of_other_libraries_become_json() -> None:
    class Message(BaseModel):
        role: str = "assistant"
        content: str = "half of \ud83d"

    assert append_answer_if_missing([], [Message()], "x") == [{"role": "assistant", "content": "half of \ufffd"}]


@pytest.mark.parametrize("invalid", ["text", 5, None, ["role", "user"]])
def test_what_is_no_message_is_refused_with_its_position(invalid: Any) -> None:
    with pytest.raises(TypeError, match=r"agent_ctx.messages\[1\] is a .*: append messages in the form of chat"):
        append_answer_if_missing([], [QUERY_MESSAGE, invalid], "x")


async def test_a_producer_that_fails_half_way_has_changed_no_saved_message() -> None:
    saved: list[AgentContext] = []

    def produce(ctx: AgentContext) -> Any:
        ctx.messages[0]["content"] = "changed"
        ctx.messages.append(calls("one"))
        raise ConnectionError

    with pytest.raises(ConnectionError):
        await loop_of(produce, save=saved.append).run("q")
    assert [each.messages for each in saved] == [[QUERY_MESSAGE]]
