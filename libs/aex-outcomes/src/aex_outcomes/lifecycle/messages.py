"""A loop's conversation: plain messages in the form of chat completions, which JSON can hold."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic_core import to_jsonable_python

from aex_models.canonical import json_problem
from aex_outcomes.lifecycle.depth import MAX_DEPTH, too_deep

Message = dict[str, Any]


def as_json(value: Any) -> Any:
    """The JSON form of a producer's value: models, dataclasses and dates included. It may still hold NaN.

    Raises `TypeError` for what has none, naming the fix.
    """
    try:
        return to_jsonable_python(value, by_alias=True, round_trip=True)
    except Exception as error:
        raise TypeError(
            f"A {type(value).__name__} that has no JSON form ({error}): give JSON, a pydantic model or a dataclass"
        ) from error


def said(role: str, content: Any) -> Message:
    """A message whose content is a text, or else JSON written out."""
    return {"role": role, "content": _whole(content if isinstance(content, str) else _written(content))}


def query_json(query: Any) -> Any:
    """The JSON form of a query. Raises `TypeError` for what could be saved but not read back, naming place and fix."""
    plain = as_json(query)
    _refuse_unreadable("The query", plain)
    return plain


def answered(given: Sequence[Message], now: Sequence[Any], output: Any) -> list[Message]:
    """The conversation after a turn: what the producer has made of it, with its answer at the end unless it is there.

    `given`: the very messages that the producer was given. Raises `TypeError` for one that is none.
    """
    known = {id(each) for each in given}
    messages = [_plain(position, each) for position, each in enumerate(now)]
    added = [message for message, each in zip(messages, now, strict=True) if id(each) not in known]
    if any(message.get("role") == "assistant" for message in added):
        return messages
    return [*messages, said("assistant", output)]


def with_feedback(messages: Sequence[Message], feedback: str) -> list[Message]:
    """The conversation with feedback: the answer to the last tool call that has none yet, else a user's message."""
    call = _open_call(messages)
    if call is None:
        return [*messages, said("user", feedback)]
    return [*messages, {"role": "tool", "tool_call_id": call, "content": feedback}]


def _open_call(messages: Sequence[Message]) -> str | None:
    """The id of the last tool call of this turn that nobody has answered; a call takes one answer."""
    closed: set[Any] = set()
    for message in reversed(messages):
        if message.get("role") == "user":
            return None
        closed.add(message.get("tool_call_id"))
        calls = message.get("tool_calls")
        ids = [each.get("id") for each in calls if isinstance(each, Mapping)] if isinstance(calls, list) else []
        waiting = [each for each in ids if isinstance(each, str) and each not in closed]
        if waiting:
            return waiting[-1]
    return None


def _plain(position: int, message: Any) -> Message:
    plain = _without_surrogates(as_json(message))
    if not isinstance(plain, dict):
        raise TypeError(
            f"agent_ctx.messages[{position}] is a {type(message).__name__}: "
            'append messages in the form of chat completions, {"role": …, "content": …}'
        )
    _refuse_unreadable(f"agent_ctx.messages[{position}]", plain)
    return plain


def _refuse_unreadable(what: str, value: Any) -> None:
    """Refuse what no reader of a saved context takes."""
    if (path := too_deep(value)) is not None:
        raise TypeError(f"{what} is nested more than {MAX_DEPTH} levels deep, at {path[:100]}…: give it as a text")
    if (found := json_problem(value)) is not None:
        path, problem = found
        raise TypeError(f"{what} cannot be saved as JSON: {path[:300] or '/'}: {problem}; give it as a text")


def _written(content: Any) -> str:
    try:
        return json.dumps(content, ensure_ascii=False)
    except (ValueError, RecursionError):  # an integer of thousands of digits; what nests too deep
        return f"<{type(content).__name__}>"


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return _whole(value)
    if isinstance(value, dict):
        return {_whole(key): _without_surrogates(item) for key, item in value.items()}
    return [_without_surrogates(item) for item in value] if isinstance(value, list) else value


def _whole(text: str) -> str:
    """Lone surrogates cannot be saved."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
