"""A strict parser of I-JSON (RFC 7493), so that no other parser reads a document differently.

Numbers with a fraction become `JsonFloat`. A clean document takes one pass of the C parser. A suspicious one is then
searched for problems, which are located by JSON pointers (RFC 6901).
"""

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from typing import Any, NoReturn

from aex_models.canonical import escape_pointer_segment
from aex_models.numbers import MAX_SAFE_INTEGER, JsonFloat
from aex_models.work import Problem
from aex_runtime.errors import InvalidRequest

MAX_ITEMS = 100_000
"""The most items of an array, and members of an object."""
MAX_PROBLEMS = 100
_MAX_SEGMENT = 100
"""Characters of a name to which a pointer is cut, since people read it."""
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
"""Surrogates that are not part of a pair: the parser has made one character of each pair."""
_UNPRINTABLE = re.compile("[\0\ud800-\udfff]")
_CONTAINERS = (dict, list)
_VALID_TYPES = frozenset({int, float, bool, type(None), JsonFloat})
MAX_DEPTH = 64
MAX_VALUES = 1_000_000
"""The most values of a document, which limits the memory that 10 MB of JSON can take."""
MAX_NUMBER_CHARS = 400
"""More characters than any amount or double needs."""
_NOT_STRUCTURE = bytes(set(range(256)) - set(b'[]{},"'))
_STEP = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_BAD_ESCAPE = re.compile(rb"\\u(?:0000|[dD][89a-fA-F])")
_SAFE_DIGITS = 15


@dataclass(frozen=True, slots=True)
class RejectedNumber:
    """A placeholder, in a parsed document, of a number that is refused."""

    code: str
    message: str


class DuplicateKeys(dict[str, Any]):
    """An object, in a parsed document, in which names occur more than once; `repeated` are these names."""

    def __init__(self, members: dict[str, Any], repeated: Sequence[str]) -> None:
        super().__init__(members)
        self.repeated = repeated


def parse_strict_json(raw: bytes) -> Any:
    """Return the value of a JSON document.

    Raises `InvalidRequest` with up to 100 problems, for text that is not I-JSON and for too large documents.
    """
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        _refuse("invalid_utf8", "the body is not UTF-8")
    _check_size(raw)
    reader = _Reader()
    try:
        value = json.loads(
            text,
            object_pairs_hook=reader.build_object,
            parse_float=reader.parse_fraction,
            parse_int=reader.parse_integer,
            parse_constant=reader.reject_constant,
        )
    except json.JSONDecodeError as error:
        _refuse("malformed_json", f"not JSON: {error.msg} (line {error.lineno}, column {error.colno})")
    if reader.has_rejected or _BAD_ESCAPE.search(raw) or (raw.count(b",") >= MAX_ITEMS and _has_long_container(value)):
        problems = list(islice(_find_problems(value), MAX_PROBLEMS))
        if problems:
            raise InvalidRequest("invalid_json", "the body is not strict JSON (RFC 7493); see errors", problems)
    return value


def _refuse(code: str, message: str) -> NoReturn:
    raise InvalidRequest(code, message, [Problem(path="", code=code, message=message)])


def _check_size(raw: bytes) -> None:
    """Refuse a document that is nested too deeply or has too many values, before it is parsed."""
    openings, commas = raw.count(b"[") + raw.count(b"{"), raw.count(b",")
    if openings <= MAX_DEPTH and commas < MAX_VALUES:
        return
    # Escaped backslashes are removed first, so that each remaining backslash escapes its next character.
    unescaped = raw.replace(b"\\\\", b"").replace(b'\\"', b"")
    structure = b"".join(unescaped.translate(None, _NOT_STRUCTURE).split(b'"')[::2])
    if structure.count(b",") >= MAX_VALUES:
        _refuse("too_many_values", f"a document holds at most {MAX_VALUES} values")
    if max(accumulate(map(_STEP.__getitem__, structure.replace(b",", b""))), default=0) > MAX_DEPTH:
        _refuse("json_too_deep", f"JSON is nested at most {MAX_DEPTH} levels deep")


class _Reader:
    """The hooks of the parser. `has_rejected`: the parsed value contains something to refuse."""

    def __init__(self) -> None:
        self.has_rejected = False

    def build_object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(pairs)
        if len(members) == len(pairs):
            return members
        self.has_rejected = True
        counts = Counter(name for name, _ in pairs)
        return DuplicateKeys(members, [name for name, count in counts.items() if count > 1])

    def parse_fraction(self, text: str) -> float | RejectedNumber:
        if len(text) > MAX_NUMBER_CHARS:
            return self._reject("number_too_long", f"a number has at most {MAX_NUMBER_CHARS} characters")
        number = JsonFloat(text)
        if math.isinf(number):
            return self._reject("number_out_of_range", "the number is beyond what a double holds")
        return number

    def parse_integer(self, text: str) -> int | RejectedNumber:
        if len(text) <= _SAFE_DIGITS:
            return int(text)
        if len(text) > MAX_NUMBER_CHARS or abs(number := int(text)) > MAX_SAFE_INTEGER:
            return self._reject("unsafe_integer", "integers must be within ±(2^53 − 1)")
        return number

    def reject_constant(self, name: str) -> RejectedNumber:
        return self._reject("not_a_number", f"{name} is not JSON")

    def _reject(self, code: str, message: str) -> RejectedNumber:
        self.has_rejected = True
        return RejectedNumber(code, message)


def extend_pointer(pointer: str, name: str | int) -> str:
    """Return the JSON pointer, extended by one name or index.

    A name is made printable and cut to 100 characters.
    """
    if isinstance(name, int):
        return f"{pointer}/{name}"
    printable = _UNPRINTABLE.sub("\ufffd", name[:_MAX_SEGMENT])
    return f"{pointer}/{escape_pointer_segment(printable)}"


def _has_long_container(root: Any) -> bool:
    """Return whether an array or object in a parsed document has more than `MAX_ITEMS` items."""
    pending = [root] if isinstance(root, _CONTAINERS) else []
    while pending:
        value = pending.pop()
        if len(value) > MAX_ITEMS:
            return True
        items = value.values() if isinstance(value, dict) else value
        pending += [item for item in items if isinstance(item, _CONTAINERS)]
    return False


def _find_problems(root: Any) -> Iterator[Problem]:
    """Yield the problems of a parsed document. Pointers are built only for containers and invalid values."""
    pending: list[tuple[str, Any]] = [("", root)]
    while pending:
        path, value = pending.pop()
        if isinstance(value, RejectedNumber):
            yield Problem(path=path, code=value.code, message=value.message)
        elif isinstance(value, str):
            yield from _text_problems(path, value)
        elif len(value) > MAX_ITEMS:
            yield Problem(path=path, code="too_many_items", message=f"at most {MAX_ITEMS} items")
        else:
            if isinstance(value, dict):
                yield from _name_problems(path, value)
            named = value.items() if isinstance(value, dict) else enumerate(value)
            pending += reversed([(extend_pointer(path, name), item) for name, item in named if _is_suspect(item)])


def _is_suspect(value: Any) -> bool:
    return _is_invalid_text(value) if isinstance(value, str) else type(value) not in _VALID_TYPES


def _name_problems(path: str, members: dict[str, Any]) -> Iterator[Problem]:
    if isinstance(members, DuplicateKeys):
        for name in members.repeated:
            yield Problem(
                path=extend_pointer(path, name), code="duplicate_key", message="the name occurs more than once"
            )
    for name in filter(_is_invalid_text, members):
        yield from _text_problems(extend_pointer(path, name), name)


def _is_invalid_text(text: str) -> bool:
    return "\0" in text or (not text.isascii() and _LONE_SURROGATE.search(text) is not None)


def _text_problems(path: str, text: str) -> Iterator[Problem]:
    if "\0" in text:
        yield Problem(path=path, code="nul_character", message="strings must hold no NUL")
    if _LONE_SURROGATE.search(text):
        yield Problem(path=path, code="lone_surrogate", message="strings must hold no lone surrogates")
