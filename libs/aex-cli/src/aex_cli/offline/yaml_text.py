"""YAML as far as it says what JSON can: an unquoted `no` is a text, a date too, and nothing is said twice."""

import json
import math
import re
from collections.abc import Iterator
from typing import Any, Protocol

import yaml

from aex_models.numbers import JsonFloat

_NULL = re.compile(r"(?:~|null|Null|NULL|)")
_BOOL = re.compile(r"(?:true|True|TRUE|false|False|FALSE)")
_INT = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
"""What unquoted words are, by the core schema of YAML 1.2; numbers with leading zeros are texts, as ids often are."""
_MAX_DIGITS = 400
_MAX_DEPTH = 64
_LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
"""libyaml where it is there: much faster."""


class Mark(Protocol):
    """A place in a text, counted from 0; libyaml's and PyYAML's own are two classes."""

    line: int
    column: int


class NotYaml(ValueError):
    """The text is no YAML, or says what JSON cannot. `fix`: what to do about it."""

    def __init__(self, problem: str, mark: Mark | None, fix: str = "correct it, or write JSON") -> None:
        where = f" (line {mark.line + 1}, column {mark.column + 1})" if mark else ""
        super().__init__(f"{problem}{where}")
        self.fix = fix


def parse_yaml(text: str) -> Any:
    """The value of the one document in `text`: mappings, lists, texts, numbers, booleans, null. Raises `NotYaml`.

    Made of the parser's events one by one, so that nothing depends on how deep a text is nested.
    """
    try:
        loader = _LOADER(text)
        try:
            return _document(loader)
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        raise NotYaml(error.problem or "it cannot be parsed", error.problem_mark) from None
    except yaml.reader.ReaderError:
        raise NotYaml("it holds a character that YAML does not take", None) from None


def _document(loader: Any) -> Any:
    events = _events(loader)
    first = next(events, None)
    if first is None:
        return None
    value = _value(first, events, 0)
    further = next(events, None)
    if further is not None:
        raise NotYaml("it holds more than one document", further.start_mark, "keep one of them")
    return value


def _events(loader: Any) -> Iterator[yaml.Event]:
    """What a value is made of; where documents begin and end is left out."""
    while loader.check_event():
        event = loader.get_event()
        if isinstance(event, yaml.NodeEvent | yaml.CollectionEndEvent):
            yield event


def _value(event: yaml.Event, events: Iterator[yaml.Event], depth: int) -> Any:
    if depth > _MAX_DEPTH:
        raise NotYaml(f"it is nested more than {_MAX_DEPTH} levels deep", event.start_mark)
    if isinstance(event, yaml.AliasEvent):
        raise NotYaml(f"it refers to another part of itself (*{event.anchor})", event.start_mark, "write it out")
    tag = getattr(event, "tag", None)
    if tag is not None:
        raise NotYaml(f"it has a tag, {tag}", event.start_mark, "leave the tag out")
    if isinstance(event, yaml.ScalarEvent):
        return _word(event) if event.implicit[0] else event.value
    if isinstance(event, yaml.SequenceStartEvent):
        return [_value(each, events, depth + 1) for each in _until_end(events)]
    return _members(events, depth)


def _members(events: Iterator[yaml.Event], depth: int) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for key in _until_end(events):
        name = _value(key, events, depth + 1)
        if not isinstance(name, str):
            raise NotYaml("a name is not a text", key.start_mark, "put the name in quotes")
        if name in members:
            raise NotYaml(f"{name!r} is there twice", key.start_mark, "drop one of the two")
        members[name] = _value(next(events), events, depth + 1)
    return members


def _until_end(events: Iterator[yaml.Event]) -> Iterator[yaml.Event]:
    """The first event of each item; whoever asks takes what follows it before the next."""
    for event in events:
        if isinstance(event, yaml.CollectionEndEvent):
            return
        yield event


def _word(event: yaml.ScalarEvent) -> Any:
    """An unquoted word."""
    text: str = event.value
    if _NULL.fullmatch(text):
        return None
    if _BOOL.fullmatch(text):
        return text.lower() == "true"
    if not _FLOAT.fullmatch(text):
        return text
    if len(text) > _MAX_DIGITS:
        raise NotYaml(f"a number has more than {_MAX_DIGITS} characters", event.start_mark)
    return int(text) if _INT.fullmatch(text) else JsonFloat(_as_json(text))


def _as_json(text: str) -> str:
    """A number of YAML's digits as JSON writes them: no `+`, and digits on both sides of the point."""
    sign, rest = ("-", text[1:]) if text.startswith("-") else ("", text.removeprefix("+"))
    number = re.sub(r"\.(?![0-9])", "", rest)
    return sign + (f"0{number}" if number.startswith(".") else number)


def json_text(value: Any) -> str:
    """What `parse_yaml` made, as JSON that keeps every number's own text: 11.170 claims more than 11.17."""
    if isinstance(value, JsonFloat):
        return value.text if math.isfinite(value) else json.dumps(float(value))
    if isinstance(value, dict):
        return f"{{{','.join(f'{json.dumps(name)}:{json_text(item)}' for name, item in value.items())}}}"
    if isinstance(value, list):
        return f"[{','.join(map(json_text, value))}]"
    return json.dumps(value)
