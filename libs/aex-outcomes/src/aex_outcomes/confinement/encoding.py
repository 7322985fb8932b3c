"""Big JSON values encoded in bites, so that the event loop gets its turn between them.

`json.dumps` of 10 MB is one C call that keeps the interpreter to itself for a tenth of a second, in whatever thread.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, TypeVar

from aex_outcomes.confinement import frames

INLINE_BYTES = 65_536
"""Values up to about this size are encoded and decoded on the event loop: a hand-over to a thread costs more."""

T = TypeVar("T")

_NODE = 8
"""What a number, a bracket or a key's punctuation is taken to weigh, in bytes."""


async def encoded(value: dict[str, Any]) -> bytes:
    """A JSON object as bytes, off the event loop where it is big. Raises as `frames.encode` does."""
    if _left(value, INLINE_BYTES) >= 0:
        return frames.encode(value)
    return await asyncio.to_thread(encode_in_bites, value)


def encode_in_bites(value: Any) -> bytes:
    """The same bytes as `frames.encode`, made of pieces of about `INLINE_BYTES`."""
    return b"".join(_bites(value))


def _left(value: Any, budget: int) -> int:
    """The budget less the rough size of a value: negative, and no longer exact, once it is overdrawn."""
    budget -= _NODE
    if isinstance(value, str):
        return budget - len(value)
    if not isinstance(value, dict | list | tuple):
        return budget
    if len(value) * _NODE > budget:
        return -1
    if isinstance(value, dict):
        budget -= sum(map(len, value))
    for member in value.values() if isinstance(value, dict) else value:
        if budget < 0:
            break
        budget = _left(member, budget)
    return budget


def _bites(value: Any) -> Iterator[bytes]:
    if isinstance(value, dict):
        yield from _joined(b"{", map(_members, _grouped(value.items(), lambda pair: pair[1])), b"}")
    elif isinstance(value, list | tuple):
        yield from _joined(b"[", map(_items, _grouped(value, lambda item: item)), b"]")
    elif isinstance(value, str):
        yield b'"'
        for start in range(0, len(value), INLINE_BYTES):
            yield frames.encode(value[start : start + INLINE_BYTES])[1:-1]
        yield b'"'
    else:
        yield frames.encode(value)


def _joined(opening: bytes, pieces: Iterable[Iterable[bytes]], closing: bytes) -> Iterator[bytes]:
    yield opening
    for position, piece in enumerate(pieces):
        if position:
            yield b","
        yield from piece
    yield closing


def _members(group: list[tuple[str, Any]]) -> Iterable[bytes]:
    key, value = group[0]
    if len(group) == 1 and _heavy(value):
        return chain([frames.encode(key), b":"], _bites(value))
    return [frames.encode(dict(group))[1:-1]]


def _items(group: list[Any]) -> Iterable[bytes]:
    if len(group) == 1 and _heavy(group[0]):
        return _bites(group[0])
    return [frames.encode(group)[1:-1]]


def _heavy(value: Any) -> bool:
    return _left(value, INLINE_BYTES) < 0


def _grouped(things: Iterable[T], value_of: Callable[[T], Any]) -> Iterator[list[T]]:
    """Runs of things that together weigh about `INLINE_BYTES`; what is heavier than that comes alone."""
    group: list[T] = []
    room = INLINE_BYTES
    for thing in things:
        left = _left(value_of(thing), room)
        if left < 0 and group:
            yield group
            group, left = [], _left(value_of(thing), INLINE_BYTES)
        group.append(thing)
        room = left
        if room < 0:
            yield group
            group, room = [], INLINE_BYTES
    if group:
        yield group
