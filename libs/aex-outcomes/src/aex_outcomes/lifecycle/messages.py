"""The conversation of a loop: plain JSON messages in the form of chat completions."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic_core import to_jsonable_python

from aex_models.canonical import find_json_problem
from aex_outcomes.json_values import MAX_DEPTH, find_excess_depth

Message = dict[str, Any]


def as_json(value: Any) -> Any:
    """Return the JSON form of a producer's value (models, dataclasses, dates); it may still hold NaN.

    Raises `TypeError`, with the fix, for a value without a JSON form.
    """
    try:
        return to_jsonable_python(value, by_alias=True, round_trip=True)
    except Exception as error:
        raise TypeError(
            f"A {type(value).__name__} that has no JSON form ({error}): give JSON, a pydantic model or a dataclass"
        ) from error


def make_chat_message(role: str, content: Any) -> Message:
    """Return a message whose content is a text or serialised JSON."""
    if not isinstance(content, str):
        try:
            content = json.dumps(content, ensure_ascii=False)
        except (ValueError, RecursionError):  # an integer of thousands of digits; nesting too deep
            content = f"<{type(content).__name__}>"
    return {"role": role, "content": _replace_surrogates(content)}


def to_storable_query(query: Any) -> Any:
    """Return the JSON form of a query. Raises `TypeError`, with the fix, when it could not be read back."""
    return _check_readable("The query", as_json(query))


def append_answer_if_missing(previous: Sequence[Message], now: Sequence[Any], output: Any) -> list[Message]:
    """Return the conversation after a turn, with the producer's answer unless it added one."""
    known = {id(each) for each in previous}
    messages = [_plain_message(position, each) for position, each in enumerate(now)]
    added = [message for message, each in zip(messages, now, strict=True) if id(each) not in known]
    if any(message.get("role") == "assistant" for message in added):
        return messages
    return [*messages, make_chat_message("assistant", output)]


def append_feedback(messages: Sequence[Message], feedback: str) -> list[Message]:
    """Return the conversation with feedback: the answer to an open tool call, else a user's message."""
    call = _open_call(messages)
    answer = {"role": "tool", "tool_call_id": call, "content": feedback}
    return [*messages, answer if call is not None else make_chat_message("user", feedback)]


def _open_call(messages: Sequence[Message]) -> str | None:
    """Return the id of the last unanswered tool call of this turn."""
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
    plain = _replace_surrogates(as_json(message))
    if not isinstance(plain, dict):
        raise TypeError(
            f"agent_ctx.messages[{position}] is a {type(message).__name__}: "
            'append messages in the form of chat completions, {"role": …, "content": …}'
        )
    _check_readable(f"agent_ctx.messages[{position}]", plain)
    return plain


def _check_readable(subject: str, value: Any) -> Any:
    """Return the value. Raises `TypeError` for one that no reader of a saved context accepts."""
    if (path := find_excess_depth(value)) is not None:
        raise TypeError(f"{subject} is nested more than {MAX_DEPTH} levels deep, at {path[:100]}…: give it as a text")
    if (found := find_json_problem(value)) is not None:
        path, problem = found
        raise TypeError(f"{subject} cannot be saved as JSON: {path[:300] or '/'}: {problem}; give it as a text")
    return value


def _replace_surrogates(value: Any) -> Any:
    """Replace lone surrogates, which cannot be saved, in all texts of a JSON value."""
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, dict):
        return {_replace_surrogates(key): _replace_surrogates(item) for key, item in value.items()}
    return [_replace_surrogates(item) for item in value] if isinstance(value, list) else value
