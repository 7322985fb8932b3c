"""What is wrong in a parsed JSON document, with JSON pointers (RFC 6901) to it."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from aex_models.canonical import escape_pointer
from aex_models.numbers import JsonFloat
from aex_models.work import Problem

MAX_ITEMS = 100_000
"""Of one array, or members of one object."""
MAX_PROBLEMS = 100
_MAX_SEGMENT = 100
"""Of a name, in a path: a path is for people."""
_LONE = re.compile("[\ud800-\udfff]")
"""A surrogate in parsed text is a lone one: pairs have become one character."""
_UNPRINTABLE = re.compile("[\0\ud800-\udfff]")
_HOLDERS = (dict, list)
_REPLACEMENT = "\ufffd"
_HARMLESS = frozenset({int, float, bool, type(None), JsonFloat})


@dataclass(frozen=True, slots=True)
class Odd:
    """Stands in a parsed document for a number that is refused."""

    code: str
    message: str


class OddObject(dict[str, Any]):
    """An object in which names occur more than once."""

    def __init__(self, members: dict[str, Any], repeated: Sequence[str]) -> None:
        super().__init__(members)
        self.repeated = repeated


def pointer(path: str, name: str | int) -> str:
    """`path` extended by one name: printable, and cut where it is long."""
    if isinstance(name, int):
        return f"{path}/{name}"
    return f"{path}/{escape_pointer(_UNPRINTABLE.sub(_REPLACEMENT, name[:_MAX_SEGMENT]))}"


def has_long_container(root: Any) -> bool:
    """Whether an array or object of a parsed document has too many items."""
    pending = [root] if isinstance(root, _HOLDERS) else []
    while pending:
        value = pending.pop()
        if len(value) > MAX_ITEMS:
            return True
        pending += [
            item for item in (value.values() if isinstance(value, dict) else value) if isinstance(item, _HOLDERS)
        ]
    return False


def problems_in(root: Any) -> Iterator[Problem]:
    """Everything wrong in a parsed document; paths are made only for what is wrong, and for what holds others."""
    pending: list[tuple[str, Any]] = [("", root)]
    while pending:
        path, value = pending.pop()
        if isinstance(value, Odd):
            yield Problem(path=path, code=value.code, message=value.message)
        elif isinstance(value, str):
            yield from _text_problems(path, value)
        elif len(value) > MAX_ITEMS:
            yield Problem(path=path, code="too_many_items", message=f"at most {MAX_ITEMS} items")
        else:
            if isinstance(value, dict):
                yield from _name_problems(path, value)
            named = value.items() if isinstance(value, dict) else enumerate(value)
            pending += reversed([(pointer(path, name), item) for name, item in named if _is_suspect(item)])


def _is_suspect(value: Any) -> bool:
    """Whether to look at a value again: at most what holds others, and texts that are wrong."""
    if isinstance(value, str):
        return _is_odd_text(value)
    return type(value) not in _HARMLESS


def _name_problems(path: str, members: dict[str, Any]) -> Iterator[Problem]:
    if isinstance(members, OddObject):
        for name in members.repeated:
            yield Problem(path=pointer(path, name), code="duplicate_key", message="the name occurs more than once")
    for name in filter(_is_odd_text, members):
        yield from _text_problems(pointer(path, name), name)


def _is_odd_text(text: str) -> bool:
    return "\0" in text or (not text.isascii() and _LONE.search(text) is not None)


def _text_problems(path: str, text: str) -> Iterator[Problem]:
    if "\0" in text:
        yield Problem(path=path, code="nul_character", message="strings must hold no NUL")
    if _LONE.search(text):
        yield Problem(path=path, code="lone_surrogate", message="strings must hold no lone surrogates")
