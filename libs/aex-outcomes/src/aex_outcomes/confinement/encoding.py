"""JSON encoding of large values in small pieces, so that the event loop keeps running.

`json.dumps` of 10 MB is one C call that holds the interpreter lock for a tenth of a second, in any thread.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, TypeVar

from aex_outcomes.confinement import frames

INLINE_BYTES = 65_536
"""Size up to which values are encoded on the event loop: passing them to a thread costs more."""

T = TypeVar("T")

_NODE = 8
"""Assumed bytes of a number, a bracket or a key's punctuation."""


async def encode_without_blocking(value: dict[str, Any]) -> bytes:
    """Encode a JSON object to the bytes of `frames.encode_json`; a large one in a thread, by short calls."""
    if not _is_large(value):
        return frames.encode_json(value)
    return await asyncio.to_thread(encode_in_pieces, value)


def encode_in_pieces(value: Any) -> bytes:
    """Encode a JSON value to the bytes of `frames.encode_json`, by several short calls.

    Each call encodes about `INLINE_BYTES`, so that other threads can run between them.
    """
    return b"".join(_encode_pieces(value))


def _remaining_budget(value: Any, budget: int) -> int:
    """Return the budget less the rough size of a value in bytes; any negative number if it is exceeded."""
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
        budget = _remaining_budget(member, budget)
    return budget


def _encode_pieces(value: Any) -> Iterator[bytes]:
    if isinstance(value, dict):
        yield from _join(b"{", map(_encode_members, _group(value.items(), lambda pair: pair[1])), b"}")
    elif isinstance(value, list | tuple):
        yield from _join(b"[", map(_encode_items, _group(value, lambda item: item)), b"]")
    elif isinstance(value, str):
        yield b'"'
        for start in range(0, len(value), INLINE_BYTES):
            yield frames.encode_json(value[start : start + INLINE_BYTES])[1:-1]
        yield b'"'
    else:
        yield frames.encode_json(value)


def _join(opening: bytes, pieces: Iterable[Iterable[bytes]], closing: bytes) -> Iterator[bytes]:
    yield opening
    for position, piece in enumerate(pieces):
        if position:
            yield b","
        yield from piece
    yield closing


def _encode_members(group: list[tuple[str, Any]]) -> Iterable[bytes]:
    key, value = group[0]
    if len(group) == 1 and _is_large(value):
        return chain([frames.encode_json(key), b":"], _encode_pieces(value))
    return [frames.encode_json(dict(group))[1:-1]]


def _encode_items(group: list[Any]) -> Iterable[bytes]:
    if len(group) == 1 and _is_large(group[0]):
        return _encode_pieces(group[0])
    return [frames.encode_json(group)[1:-1]]


def _is_large(value: Any) -> bool:
    return _remaining_budget(value, INLINE_BYTES) < 0


def _group(items: Iterable[T], value_of: Callable[[T], Any]) -> Iterator[list[T]]:
    """Yield the items in groups of about `INLINE_BYTES`; a larger item is a group alone."""
    group: list[T] = []
    remaining = INLINE_BYTES
    for item in items:
        after = _remaining_budget(value_of(item), remaining)
        if after < 0 and group:
            yield group
            group, after = [], _remaining_budget(value_of(item), INLINE_BYTES)
        group.append(item)
        remaining = after
        if remaining < 0:
            yield group
            group, remaining = [], INLINE_BYTES
    if group:
        yield group
