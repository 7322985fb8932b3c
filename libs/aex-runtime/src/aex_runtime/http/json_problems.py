"""What is wrong in a parsed JSON document, with JSON pointers (RFC 6901) to it."""

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
    shown = _printable(str(name)[:_MAX_SEGMENT]).replace("\0", "\ufffd")
    return f"{path}/{escape_pointer(shown)}"


def problems_in(root: Any) -> Iterator[Problem]:
    """Everything wrong in a parsed document, in the order of the document."""
    pending: list[tuple[str, Any]] = [("", root)]
    while pending:
        path, value = pending.pop()
        if isinstance(value, Odd):
            yield Problem(path=path, code=value.code, message=value.message)
        elif isinstance(value, str):
            yield from _text_problems(path, value)
        elif len(value) > MAX_ITEMS:
            yield Problem(path=path, code="too_many_items", message=f"at most {MAX_ITEMS} items")
        elif isinstance(value, dict):
            yield from _member_problems(path, value)
            pending += [(pointer(path, name), value[name]) for name in reversed(value) if _is_suspect(value[name])]
        else:
            places = reversed(range(len(value)))
            pending += [(f"{path}/{place}", value[place]) for place in places if _is_suspect(value[place])]


def _is_suspect(value: Any) -> bool:
    return type(value) not in _HARMLESS


def _member_problems(path: str, members: dict[str, Any]) -> Iterator[Problem]:
    if isinstance(members, OddObject):
        for name in members.repeated:
            yield Problem(path=pointer(path, name), code="duplicate_key", message="the name occurs more than once")
    for name in members:
        yield from _text_problems(pointer(path, name), name)


def _text_problems(path: str, text: str) -> Iterator[Problem]:
    if "\0" in text:
        yield Problem(path=path, code="nul_character", message="strings must hold no NUL")
    if _printable(text) != text:
        yield Problem(path=path, code="lone_surrogate", message="strings must hold no lone surrogates")


def _printable(text: str) -> str:
    """Text that can be encoded: lone surrogates become U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
