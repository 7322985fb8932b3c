"""Reading of JSON and YAML files and of standard input, by the same rules as the services' JSON.

YAML is limited to JSON's values: an unquoted `no` or date is a text, and duplicate names are errors.
"""

import json
import math
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from aex_models.numbers import JsonFloat
from aex_runtime.commandline import UserError
from aex_runtime.errors import InvalidRequest
from aex_runtime.http.strict_json import parse_strict_json

_NULL = re.compile(r"(?:~|null|Null|NULL|)")
_BOOL = re.compile(r"(?:true|True|TRUE|false|False|FALSE)")
_INT = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
"""Numbers of the core schema of YAML 1.2, without leading zeros: such digits are often ids, so they are texts."""
_MAX_DIGITS = 400
_MAX_DEPTH = 64
_LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)  # libyaml is much faster, but not always installed

STDIN = "-"
MAX_BYTES = 10_000_000
"""Largest size of a file: the limit of a request's body."""
_JSON, _YAML = frozenset({".json"}), frozenset({".yaml", ".yml"})


@dataclass(frozen=True, slots=True)
class InputDocument:
    """The parsed value of a file, and the file's name for messages."""

    name: str
    value: Any


class BadFile(UserError):
    """The error for a file with several problems; `lines` holds one line for each."""

    def __init__(self, lines: Iterable[str]) -> None:
        self.lines = tuple(lines)
        super().__init__("\n".join(self.lines))

    def text(self) -> str:
        """Return all problems as the command prints them, one on each line."""
        return "\naex: ".join(" ".join(line.split()) for line in self.lines)


def read_document(option_name: str, path: str) -> InputDocument:
    """Read a JSON or YAML file, or standard input for `-`.

    `option_name`: the command line option that names the file, for messages. Raises `UserError` with the problem and
    the fix.
    """
    name = "standard input" if path == STDIN else path
    raw = _read(option_name, path, name).removeprefix(b"\xef\xbb\xbf")  # a byte order mark
    if not raw.strip():
        raise UserError(f"{name} is empty", f"give {option_name} a file of JSON or YAML")
    if len(raw) > MAX_BYTES:
        raise UserError(f"{name} has more than {MAX_BYTES // 1_000_000} MB", "give the services' limit or less")
    return InputDocument(name, _parse(name, raw, Path(path).suffix.lower()))


def _read(option_name: str, path: str, name: str) -> bytes:
    try:
        if path == STDIN:
            return sys.stdin.buffer.read(MAX_BYTES + 1)
        with Path(path).open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise UserError(f"there is no file {name}", f"check the path given to {option_name}") from None
    except IsADirectoryError:
        raise UserError(f"{name} is a directory", f"give {option_name} a file") from None
    except OSError as error:
        raise UserError(f"{name} cannot be read: {error.strerror}", f"check the path given to {option_name}") from None


def _parse(name: str, raw: bytes, suffix: str) -> Any:
    """Parse JSON or YAML by the suffix. For an unknown suffix, a text that starts with `{` or `[` is JSON."""
    is_json = suffix in _JSON or (suffix not in _YAML and raw.lstrip()[:1] in {b"{", b"["})
    try:
        return parse_strict_json(raw if is_json else encode_json_keeping_digits(parse_yaml(raw.decode())).encode())
    except UnicodeDecodeError:
        raise UserError(f"{name} is not UTF-8 text", "save it as UTF-8") from None
    except NotYaml as error:
        raise UserError(f"{name} is not valid YAML: {error}", error.fix) from None
    except InvalidRequest as error:
        raise BadFile(
            f"{name}{f' {problem.path}' if problem.path else ''}: {problem.message.replace('the body', 'it')}"
            for problem in error.errors
        ) from None


class NotYaml(ValueError):
    """The error for a text that is no YAML or holds a value that JSON lacks. `fix`: advice for the user."""

    def __init__(self, problem: str, mark: Any, fix: str = "correct it, or write JSON") -> None:
        position = f" (line {mark.line + 1}, column {mark.column + 1})" if mark else ""
        super().__init__(f"{problem}{position}")
        self.fix = fix


def parse_yaml(text: str) -> Any:
    """Parse a text with one YAML document, limited to JSON's values. Raises `NotYaml`.

    The value is built from the parser's events, so that the depth limit applies before any recursion.
    """
    try:
        loader = _LOADER(text)
        try:
            return _parse_document(loader)
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        raise NotYaml(error.problem or "it cannot be parsed", error.problem_mark) from None
    except yaml.reader.ReaderError:
        raise NotYaml("it holds a character that YAML forbids", None) from None


def _parse_document(loader: Any) -> Any:
    events = _value_events(loader)
    first = next(events, None)
    value = _parse_value(first, events, 0) if first else None
    second = next(events, None)
    if second is not None:
        raise NotYaml("it holds more than one document", second.start_mark, "keep one of them")
    return value


def _value_events(loader: Any) -> Iterator[yaml.Event]:
    """Yield the parser's events of values, without those of documents."""
    while loader.check_event():
        event = loader.get_event()
        if isinstance(event, yaml.NodeEvent | yaml.CollectionEndEvent):
            yield event


def _parse_value(event: yaml.Event, events: Iterator[yaml.Event], depth: int) -> Any:
    if depth > _MAX_DEPTH:
        raise NotYaml(f"it is nested more than {_MAX_DEPTH} levels deep", event.start_mark)
    if isinstance(event, yaml.AliasEvent):
        raise NotYaml(f"it refers to another part of itself (*{event.anchor})", event.start_mark, "write it out")
    tag = getattr(event, "tag", None)
    if tag is not None:
        raise NotYaml(f"it has a tag, {tag}", event.start_mark, "remove the tag")
    if isinstance(event, yaml.ScalarEvent):
        return _parse_word(event) if event.implicit[0] else event.value
    if isinstance(event, yaml.SequenceStartEvent):
        return [_parse_value(each, events, depth + 1) for each in _item_events(events)]
    return _parse_mapping(events, depth)


def _parse_mapping(events: Iterator[yaml.Event], depth: int) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for key in _item_events(events):
        name = _parse_value(key, events, depth + 1)
        if not isinstance(name, str):
            raise NotYaml("a name is not a text", key.start_mark, "put the name in quotes")
        if name in members:
            raise NotYaml(f"{name!r} occurs twice", key.start_mark, "remove one of the two")
        members[name] = _parse_value(next(events), events, depth + 1)
    return members


def _item_events(events: Iterator[yaml.Event]) -> Iterator[yaml.Event]:
    """Yield the first event of each item of a collection. The caller reads the item's further events."""
    for event in events:
        if isinstance(event, yaml.CollectionEndEvent):
            return
        yield event


def _parse_word(event: yaml.ScalarEvent) -> Any:
    """Return the value of an unquoted word: null, a boolean, a number or a text."""
    text: str = event.value
    if _NULL.fullmatch(text):
        return None
    if _BOOL.fullmatch(text):
        return text.lower() == "true"
    if not _FLOAT.fullmatch(text):
        return text
    if len(text) > _MAX_DIGITS:
        raise NotYaml(f"a number has more than {_MAX_DIGITS} characters", event.start_mark)
    return int(text) if _INT.fullmatch(text) else JsonFloat(_normalise_number(text))


def _normalise_number(text: str) -> str:
    """Return a YAML number as JSON: without `+`, and with digits on both sides of the point."""
    sign, rest = ("-", text[1:]) if text.startswith("-") else ("", text.removeprefix("+"))
    number = re.sub(r"\.(?![0-9])", "", rest)
    return sign + (f"0{number}" if number.startswith(".") else number)


def encode_json_keeping_digits(value: Any) -> str:
    """Return a value of `parse_yaml` as JSON text in which numbers keep their digits: 11.170 stays 11.170."""
    if isinstance(value, JsonFloat):
        return value.text if math.isfinite(value) else json.dumps(float(value))
    if isinstance(value, dict):
        return (
            f"{{{','.join(f'{json.dumps(name)}:{encode_json_keeping_digits(item)}' for name, item in value.items())}}}"
        )
    if isinstance(value, list):
        return f"[{','.join(map(encode_json_keeping_digits, value))}]"
    return json.dumps(value)
