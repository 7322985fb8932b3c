"""JSON as I-JSON (RFC 7493) has it, and nothing else: what two parsers could read differently is refused.

Numbers with a fraction become `JsonFloat`. A clean document costs one pass of the C parser; only one that looks
suspicious is walked (`json_problems.py`) to say where it is wrong.
"""

import json
import math
import re
from collections import Counter
from itertools import accumulate, islice
from typing import Any, NoReturn

from aex_models.numbers import MAX_SAFE_INTEGER, JsonFloat
from aex_models.work import Problem
from aex_runtime.errors import InvalidRequest
from aex_runtime.http.json_problems import MAX_ITEMS, MAX_PROBLEMS, Odd, OddObject, has_long_container, problems_in

MAX_DEPTH = 64
MAX_VALUES = 1_000_000
"""In one document: what 10 MB of JSON may grow to in memory."""
MAX_NUMBER_CHARS = 400
"""More digits than any amount or double needs."""

_NOT_STRUCTURE = bytes(set(range(256)) - set(b'[]{},"'))
_STEP = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_BAD_ESCAPE = re.compile(rb"\\u(?:0000|[dD][89a-fA-F])")
_SAFE_DIGITS = 15


def parse_strict(raw: bytes) -> Any:
    """The value of a JSON document. Raises `InvalidRequest` with the problems and their JSON pointers."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        _refuse("invalid_utf8", "the body is not UTF-8")
    _check_size(raw)
    reader = _Reader()
    try:
        value = json.loads(
            text,
            object_pairs_hook=reader.members,
            parse_float=reader.fraction,
            parse_int=reader.integer,
            parse_constant=reader.constant,
        )
    except json.JSONDecodeError as error:
        _refuse("malformed_json", f"not JSON: {error.msg} (line {error.lineno}, column {error.colno})")
    if reader.met_odd or _BAD_ESCAPE.search(raw) or (raw.count(b",") >= MAX_ITEMS and has_long_container(value)):
        problems = list(islice(problems_in(value), MAX_PROBLEMS))
        if problems:
            raise InvalidRequest("invalid_json", "the body is not the JSON that is taken here", problems)
    return value


def _refuse(code: str, message: str) -> NoReturn:
    raise InvalidRequest(code, message, [Problem(path="", code=code, message=message)])


def _check_size(raw: bytes) -> None:
    """Refuse, before it is parsed, what nests too deep or holds too many values."""
    openings, commas = raw.count(b"[") + raw.count(b"{"), raw.count(b",")
    if openings <= MAX_DEPTH and commas < MAX_VALUES:
        return
    structure = _structure(raw)
    if structure.count(b",") >= MAX_VALUES:
        _refuse("too_many_values", f"a document holds at most {MAX_VALUES} values")
    if max(accumulate(map(_STEP.__getitem__, structure.replace(b",", b""))), default=0) > MAX_DEPTH:
        _refuse("json_too_deep", f"JSON is nested at most {MAX_DEPTH} levels deep")


def _structure(raw: bytes) -> bytes:
    """The brackets and commas of a document, without those in its strings.

    Escaped backslashes go first, so that those which are left escape what follows them.
    """
    unescaped = raw.replace(b"\\\\", b"").replace(b'\\"', b"")
    return b"".join(unescaped.translate(None, _NOT_STRUCTURE).split(b'"')[::2])


class _Reader:
    """The parser's hooks. `met_odd`: the parsed value holds something to refuse."""

    def __init__(self) -> None:
        self.met_odd = False

    def members(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(pairs)
        if len(members) == len(pairs):
            return members
        self.met_odd = True
        counts = Counter(name for name, _ in pairs)
        return OddObject(members, [name for name, count in counts.items() if count > 1])

    def fraction(self, text: str) -> float | Odd:
        if len(text) > MAX_NUMBER_CHARS:
            return self._odd("number_too_long", f"a number has at most {MAX_NUMBER_CHARS} characters")
        number = JsonFloat(text)
        if math.isinf(number):
            return self._odd("number_out_of_range", "the number is beyond what a double holds")
        return number

    def integer(self, text: str) -> int | Odd:
        if len(text) <= _SAFE_DIGITS:
            return int(text)
        if len(text) > MAX_NUMBER_CHARS or abs(number := int(text)) > MAX_SAFE_INTEGER:
            return self._odd("unsafe_integer", "integers must be within ±(2^53 − 1)")
        return number

    def constant(self, name: str) -> Odd:
        return self._odd("not_a_number", f"{name} is not JSON")

    def _odd(self, code: str, message: str) -> Odd:
        self.met_odd = True
        return Odd(code, message)
