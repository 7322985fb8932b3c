"""Conversation of a loop: plain JSON messages in the form of chat completions."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic_core import to_jsonable_python

from aex_models.canonical import find_json_problem
from aex_outcomes.json_values import MAX_DEPTH, find_pointer_beyond_depth

Message = dict[str, Any]


def to_json_value(value: Any) -> Any:
    """Convert a producer's value, such as a model, dataclass or date, to JSON values; NaN may remain.

    Raises `TypeError`, which names the fix, for a value without a JSON form.
    """
    try:
        return to_jsonable_python(value, by_alias=True, round_trip=True)
    except Exception as error:
        raise TypeError(
            f"A {type(value).__name__} that has no JSON form ({error}): give JSON, a pydantic model or a dataclass"
        ) from error


def make_chat_message(role: str, content: Any) -> Message:
    """Return a message with this role; a content that is no string is serialised as JSON."""
    if not isinstance(content, str):
        try:
            content = json.dumps(content, ensure_ascii=False)
        except (ValueError, RecursionError):  # an integer of thousands of digits; nesting too deep
            content = f"<{type(content).__name__}>"
    return {"role": role, "content": _replace_surrogates(content)}


def to_storable_query(query: Any) -> Any:
    """Convert a query to JSON values. Raises `TypeError`, with the fix, if these cannot be read back."""
    return _check_readable("The query", to_json_value(query))


def append_answer_if_missing(previous: Sequence[Message], current: Sequence[Any], output: Any) -> list[Message]:
    """Return the conversation after a turn, with the output as answer unless the producer added one.

    `previous`: the messages before the turn. `current`: the messages as the producer left them. Raises `TypeError` for
    a message that cannot be saved.
    """
    known = {id(each) for each in previous}
    messages = [_plain_message(position, each) for position, each in enumerate(current)]
    added = [message for message, each in zip(messages, current, strict=True) if id(each) not in known]
    if any(message.get("role") == "assistant" for message in added):
        return messages
    return [*messages, make_chat_message("assistant", output)]


def append_feedback(messages: Sequence[Message], feedback: str) -> list[Message]:
    """Return the conversation with feedback added as an open tool call's result, or from the user."""
    call = _open_call(messages)
    answer = {"role": "tool", "tool_call_id": call, "content": feedback}
    return [*messages, answer if call is not None else make_chat_message("user", feedback)]


def _open_call(messages: Sequence[Message]) -> str | None:
    """Return the id of the last unanswered tool call of this turn; None if there is none."""
    closed: set[Any] = set()
    for message in reversed(messages):
        if message.get("role") == "user":
            return None
        closed.add(message.get("tool_call_id"))
        calls = message.get("tool_calls")
        ids = [each.get("id") for each in calls if isinstance(each, Mapping)] if isinstance(calls, list) else []
        open_calls = [each for each in ids if isinstance(each, str) and each not in closed]
        if open_calls:
            return open_calls[-1]
    return None


def _plain_message(position: int, message: Any) -> Message:
    plain = _replace_surrogates(to_json_value(message))
    if not isinstance(plain, dict):
        raise TypeError(
            f"agent_ctx.messages[{position}] is a {type(message).__name__}: "
            'append messages in the form of chat completions, {"role": …, "content": …}'
        )
    _check_readable(f"agent_ctx.messages[{position}]", plain)
    return plain


def _check_readable(subject: str, value: Any) -> Any:
    """Return the value. Raises `TypeError` if a saved context with it could not be read back."""
    if (path := find_pointer_beyond_depth(value)) is not None:
        raise TypeError(f"{subject} is nested more than {MAX_DEPTH} levels deep, at {path[:100]}…: give it as a text")
    if (found := find_json_problem(value)) is not None:
        where = found.pointer[:300] or "/"
        raise TypeError(f"{subject} cannot be saved as JSON: {where}: {found.description}; give it as a text")
    return value


def _replace_surrogates(value: Any) -> Any:
    """Replace lone surrogates, which cannot be saved, in all texts of a JSON value by U+FFFD."""
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, dict):
        return {_replace_surrogates(key): _replace_surrogates(item) for key, item in value.items()}
    return [_replace_surrogates(item) for item in value] if isinstance(value, list) else value
