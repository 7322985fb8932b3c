"""Encoder of values as JSON nodes, which keep exact types, aliases and cycles.

A message is `{"n": nodes, "r": roots}`. A root, and an item of a node, is a JSON scalar, or a list with the index of a
node. A node is a list with its kind and its content; `value_decoder` lists the kinds. It is not pickle: a decoder
creates plain types alone, whatever a hostile process sends.
"""

import collections
import datetime
import decimal
import fractions
import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from aex_outcomes.testing.value_types import (
    BUILTIN_EXCEPTIONS,
    BUILTIN_TYPES,
    dictionary_view_kind,
    is_named_tuple,
    to_plain_value,
)

MAX_DEPTH = 200
"""Maximum levels of nesting of a value."""
MUTABLE = (
    list,
    dict,
    set,
    bytearray,
    collections.deque,
    collections.OrderedDict,
    collections.Counter,
    collections.defaultdict,
)
"""Types of arguments that are written back after a call."""
_INLINE_INTEGER = 2**53
_SINGLETONS = {id(Ellipsis): "e", id(NotImplemented): "n"}
Node = list[Any]


class TooDeep(ValueError):
    """Error of a value that is nested too deeply to cross."""


class ValueEncoder:
    """Encoder of one message. `encode_other` returns the node of a value that does not cross by value.

    `written_back`: nodes of the call's mutable arguments by the object's id; their content is sent with that index.
    """

    def __init__(
        self, encode_other: Callable[["ValueEncoder", Any], Node], written_back: Mapping[int, int] | None = None
    ) -> None:
        self.nodes: list[Node] = []
        self.objects: list[Any] = []
        """Object of each node, which also keeps its id in use."""
        self._indexes: dict[int, int] = {}
        self._encode_other = encode_other
        self._written_back = written_back or {}
        self._unfilled: deque[tuple[int, int]] = deque()
        self._depth = 0

    def encode(self, roots: Sequence[Any]) -> dict[str, Any]:
        """Return the message with these values. Raises `TooDeep`, and what `encode_other` raises."""
        children = [self.encode_child(each) for each in roots]
        while self._unfilled:  # no recursion: the program's own depth of recursion is not used up
            index, self._depth = self._unfilled.popleft()
            node = self._node(self.objects[index])
            argument = self._written_back.get(id(self.objects[index]))
            self.nodes[index] = node if argument is None else ["a", argument, node]
        return {"r": children, "n": self.nodes}

    def encode_child(self, value: Any) -> Any:
        """Return the JSON form of a value within a node."""
        kind = type(value)
        if value is None or kind is bool or kind is str:
            return value
        if (kind is int and -_INLINE_INTEGER < value < _INLINE_INTEGER) or (kind is float and math.isfinite(value)):
            return value
        return [self._index(value)]

    def _index(self, value: Any) -> int:
        known = self._indexes.get(id(value))
        if known is not None:
            return known
        if self._depth >= MAX_DEPTH:
            raise TooDeep(f"a value is nested more than {MAX_DEPTH} levels deep")
        index = self._indexes[id(value)] = len(self.nodes)
        self.nodes.append([])
        self.objects.append(value)
        self._unfilled.append((index, self._depth + 1))
        return index

    def _node(self, value: Any) -> Node:
        if id(value) in _SINGLETONS:
            return [_SINGLETONS[id(value)]]
        if is_named_tuple(value):
            return ["N", type(value).__name__, list(type(value)._fields), [self.encode_child(each) for each in value]]
        plain = to_plain_value(value)
        encode = _ENCODERS.get(type(plain))
        if encode is not None:
            return encode(self, plain)
        if isinstance(value, type):
            return self._type_node(value)
        if (view := dictionary_view_kind(value)) is not None:
            return ["v", view, [self.encode_child(each) for each in value]]
        return self._encode_other(self, value)

    def _type_node(self, value: type) -> Node:
        name = value.__name__
        known = BUILTIN_TYPES.get(name) is value or BUILTIN_EXCEPTIONS.get(name) is value
        return ["T", name] if known else self._encode_other(self, value)

    def encode_items(self, values: Any) -> list[Any]:
        """Return the JSON forms of values."""
        return [self.encode_child(each) for each in values]

    def encode_pairs(self, mapping: dict[Any, Any]) -> list[list[Any]]:
        """Return the JSON forms of a dictionary's keys and values."""
        return [[self.encode_child(key), self.encode_child(item)] for key, item in dict.items(mapping)]


def _factory_name(value: "collections.defaultdict[Any, Any]") -> str | None:
    factory = value.default_factory
    name = getattr(factory, "__name__", "")
    return name if factory is not None and BUILTIN_TYPES.get(name) is factory else None


def _zone(encoder: ValueEncoder, value: datetime.datetime | datetime.time) -> Any:
    offset = value.utcoffset()
    if value.tzinfo is None or offset is None:
        return None
    plain = type(value.tzinfo) is datetime.timezone
    return encoder.encode_child(value.tzinfo if plain else datetime.timezone(offset))


def _datetime(encoder: ValueEncoder, value: datetime.datetime) -> Node:
    fields = [value.year, value.month, value.day, value.hour, value.minute, value.second, value.microsecond]
    return ["dt", fields, _zone(encoder, value), value.fold]


def _time(encoder: ValueEncoder, value: datetime.time) -> Node:
    return ["dm", [value.hour, value.minute, value.second, value.microsecond], _zone(encoder, value), value.fold]


_ENCODERS: Mapping[type, Callable[[ValueEncoder, Any], Node]] = {
    int: lambda _, value: ["i", hex(value)],
    float: lambda _, value: ["f", repr(value)],
    str: lambda _, value: ["S", value],
    complex: lambda encoder, value: ["c", encoder.encode_child(value.real), encoder.encode_child(value.imag)],
    bytes: lambda _, value: ["b", value.decode("latin-1")],
    bytearray: lambda _, value: ["B", value.decode("latin-1")],
    list: lambda encoder, value: ["l", encoder.encode_items(value)],
    tuple: lambda encoder, value: ["t", encoder.encode_items(value)],
    set: lambda encoder, value: ["s", encoder.encode_items(value)],
    frozenset: lambda encoder, value: ["z", encoder.encode_items(value)],
    dict: lambda encoder, value: ["d", encoder.encode_pairs(value)],
    collections.OrderedDict: lambda encoder, value: ["O", encoder.encode_pairs(value)],
    collections.Counter: lambda encoder, value: ["C", encoder.encode_pairs(value)],
    collections.defaultdict: lambda encoder, value: ["D", encoder.encode_pairs(value), _factory_name(value)],
    collections.deque: lambda encoder, value: ["q", encoder.encode_items(value), value.maxlen],
    decimal.Decimal: lambda _, value: ["M", str(value)],
    fractions.Fraction: lambda encoder, value: [
        "R",
        encoder.encode_child(value.numerator),
        encoder.encode_child(value.denominator),
    ],
    datetime.datetime: _datetime,
    datetime.date: lambda _, value: ["dd", [value.year, value.month, value.day]],
    datetime.time: _time,
    datetime.timedelta: lambda _, value: ["du", [value.days, value.seconds, value.microseconds]],
    datetime.timezone: lambda encoder, value: ["dz", encoder.encode_child(value.utcoffset(None)), value.tzname(None)],
    range: lambda encoder, value: ["g", encoder.encode_items([value.start, value.stop, value.step])],
    slice: lambda encoder, value: ["L", encoder.encode_items([value.start, value.stop, value.step])],
}
