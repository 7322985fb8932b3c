"""JSON as I-JSON (RFC 7493) has it, and nothing else: what two parsers could read differently is refused.

Numbers with a fraction become `JsonFloat`. A clean document costs one pass of the C parser; only one that looks
suspicious is walked to say where it is wrong.
"""

import json
import math
import re
from collections.abc import Iterator
from itertools import accumulate, islice
from typing import Any, NoReturn

from aex_models.canonical import escape_pointer
from aex_models.numbers import MAX_SAFE_INTEGER, JsonFloat
from aex_models.work import Problem
from aex_runtime.errors import InvalidRequest

MAX_DEPTH = 64
MAX_ITEMS = 100_000
"""Of one array, or members of one object."""
MAX_NUMBER_CHARS = 400
"""More digits than any amount or double needs."""
MAX_PROBLEMS = 100

_STRINGS = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_STEP = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_BAD_ESCAPE = re.compile(rb"\\u(?:0000|[dD][89a-fA-F])")
_LONG_DIGITS = re.compile(rb"[0-9]{16}")


class _Odd:
    """Stands in the parsed document for a number that is refused."""

    def __init__(self, code: str, message: str) -> None:
        self.code, self.message = code, message


class _OddObject(dict[str, Any]):
    """An object in which names occur twice."""

    repeated: tuple[str, ...] = ()


def parse_strict(raw: bytes) -> Any:
    """The value of a JSON document. Raises `InvalidRequest` with the problems and their JSON pointers."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        _refuse("invalid_utf8", "the body is not UTF-8")
    if _nesting(raw) > MAX_DEPTH:
        _refuse("json_too_deep", f"JSON is nested at most {MAX_DEPTH} levels deep")
    reader = _Reader()
    parse_int = reader.integer if _LONG_DIGITS.search(raw) else None
    try:
        value = json.loads(
            text,
            object_pairs_hook=reader.members,
            parse_float=reader.fraction,
            parse_int=parse_int,
            parse_constant=reader.constant,
        )
    except json.JSONDecodeError as error:
        _refuse("malformed_json", f"not JSON: {error.msg} (line {error.lineno}, column {error.colno})")
    if reader.odd or raw.count(b",") >= MAX_ITEMS or _BAD_ESCAPE.search(raw):
        _check(value)
    return value


def _refuse(code: str, message: str) -> NoReturn:
    raise InvalidRequest(code, message, [Problem(path="", code=code, message=message)])


def _nesting(raw: bytes) -> int:
    """How deep brackets nest; 0 where there are too few to nest too deep."""
    if raw.count(b"[") + raw.count(b"{") <= MAX_DEPTH:
        return 0
    brackets = _STRINGS.sub(b"", raw).translate(None, _NOT_BRACKETS)
    return max(accumulate(map(_STEP.__getitem__, brackets)), default=0)


class _Reader:
    """The parser's hooks; `odd` tells whether any of them met something to refuse."""

    def __init__(self) -> None:
        self.odd = False

    def members(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(pairs)
        if len(members) == len(pairs):
            return members
        self.odd = True
        seen: set[str] = set()
        marked = _OddObject(members)
        marked.repeated = tuple({name: None for name, _ in pairs if name in seen or seen.add(name)})
        return marked

    def fraction(self, text: str) -> float | _Odd:
        if len(text) > MAX_NUMBER_CHARS:
            return self._odd("number_too_long", f"a number has at most {MAX_NUMBER_CHARS} characters")
        number = JsonFloat(text)
        if math.isinf(number):
            return self._odd("number_out_of_range", "the number is beyond what a double holds")
        return number

    def integer(self, text: str) -> int | _Odd:
        if len(text) > MAX_NUMBER_CHARS or abs(number := int(text)) > MAX_SAFE_INTEGER:
            return self._odd("unsafe_integer", "integers must be within ±(2^53 − 1)")
        return number

    def constant(self, name: str) -> _Odd:
        return self._odd("not_a_number", f"{name} is not JSON")

    def _odd(self, code: str, message: str) -> _Odd:
        self.odd = True
        return _Odd(code, message)


def _check(value: Any) -> None:
    problems = list(islice(_problems(value), MAX_PROBLEMS))
    if problems:
        raise InvalidRequest("invalid_json", "the body is not the JSON that is taken here", problems)


def _problems(root: Any) -> Iterator[Problem]:
    """Everything wrong in a parsed document, in the order of the document."""
    pending: list[tuple[str, Any]] = [("", root)]
    while pending:
        path, value = pending.pop()
        if isinstance(value, _Odd):
            yield Problem(path=path, code=value.code, message=value.message)
        elif isinstance(value, str):
            yield from _text_problems(path, value)
        elif isinstance(value, dict | list):
            if len(value) > MAX_ITEMS:
                yield Problem(path=path, code="too_many_items", message=f"at most {MAX_ITEMS} items")
                continue
            if isinstance(value, dict):
                yield from _member_problems(path, value)
                children = [(f"{path}/{escape_pointer(_printable(name))}", item) for name, item in value.items()]
            else:
                children = [(f"{path}/{position}", item) for position, item in enumerate(value)]
            pending.extend(reversed(children))


def _member_problems(path: str, members: dict[str, Any]) -> Iterator[Problem]:
    if isinstance(members, _OddObject):
        for name in members.repeated:
            where = f"{path}/{escape_pointer(_printable(name))}"
            yield Problem(path=where, code="duplicate_key", message="the name occurs more than once")
    for name in members:
        yield from _text_problems(f"{path}/{escape_pointer(_printable(name))}", name)


def _text_problems(path: str, text: str) -> Iterator[Problem]:
    if "\0" in text:
        yield Problem(path=path, code="nul_character", message="strings must hold no NUL")
    if not text.isascii() and _printable(text) != text:
        yield Problem(path=path, code="lone_surrogate", message="strings must hold no lone surrogates")


def _printable(text: str) -> str:
    """Text that can be encoded: lone surrogates become U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if not text.isascii() else text
