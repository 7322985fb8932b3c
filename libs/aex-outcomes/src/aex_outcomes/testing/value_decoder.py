"""Decoder of the messages of `value_encoder`.

It creates only plain types, even from a hostile message. Numbers are `i` integer, `f` float, `c` complex, `M` Decimal
and `R` Fraction. Texts are `S`, `b` bytes and `B` bytearray. Containers are `l` list, `t` tuple, `s` set, `z`
frozenset, `d` dict, `q` deque and `N` named tuple. Other dictionaries are `O` OrderedDict, `C` Counter, `D` defaultdict
and `v` view. The types of datetime begin with `d`. Further kinds are `g` range, `L` slice, `T` built-in type, `e`
Ellipsis and `n` NotImplemented. The content of an argument that is written back is `a`.
"""

import collections
import datetime
import decimal
import fractions
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from aex_outcomes.testing.value_encoder import MAX_DEPTH, Node
from aex_outcomes.testing.value_types import BUILTIN_EXCEPTIONS, BUILTIN_TYPES, rebuild_dictionary_view

_MAX_NAME = 200
_FRAMES_PER_LEVEL = 6
"""Frames of Python that decoding one level of nested tuples takes."""
_INVALID = (
    TypeError, ValueError, IndexError, KeyError, AttributeError, ArithmeticError, RecursionError, SyntaxError,
)  # fmt: skip


class ProtocolError(Exception):
    """Error for a message that violates the protocol."""


class ValueDecoder:
    """Decoder of one message. `decode_other` returns the value of a node of any further kind.

    `arguments`: objects of the call's arguments by the index of their node; a reply may replace their content.
    """

    def __init__(
        self, decode_other: Callable[["ValueDecoder", Node], Any], arguments: Mapping[int, Any] | None = None
    ) -> None:
        self._decode_other = decode_other
        self._arguments = arguments or {}
        self._nodes: list[Node] = []
        self.values: dict[int, Any] = {}
        """Values by the index of their node."""
        self._unfilled: list[tuple[Any, Node, int]] = []
        self._open: set[int] = set()

    def decode(self, message: Any) -> list[Any]:
        """Return the roots' values. Raises `ProtocolError` for an invalid message."""
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(limit + _FRAMES_PER_LEVEL * MAX_DEPTH)
        try:
            self._nodes = list(message["n"])
            roots = [self.decode_value(each, 0) for each in message["r"]]
            while self._unfilled:
                container, node, depth = self._unfilled.pop()
                _FILLERS[node[0]](self, container, node, depth)
        except _INVALID as error:
            raise ProtocolError(f"an invalid value ({type(error).__name__})") from None
        finally:
            sys.setrecursionlimit(limit)
        return roots

    def decode_value(self, child: Any, depth: int) -> Any:
        """Return the value of a node's item at a depth of nesting."""
        if child is None or type(child) in {bool, int, float, str}:
            return child
        [index] = child
        if index in self.values:
            return self.values[index]
        if depth > MAX_DEPTH or index in self._open or type(index) is not int or index < 0:
            raise ProtocolError("a value that is too deep or holds itself")
        self._open.add(index)
        value = self._build(self._nodes[index], depth)
        self._open.discard(index)
        self.values[index] = value
        return value

    def decode_items(self, children: Sequence[Any], depth: int) -> list[Any]:
        """Return the values of a node's items, which are one level deeper."""
        return [self.decode_value(each, depth + 1) for each in children]

    def _build(self, node: Node, depth: int) -> Any:
        if node[0] == "a":
            container, content = self._arguments[node[1]], node[2]
            if type(_empty(content)) is not type(container):
                raise ProtocolError("an argument of another type")
            self._unfilled.append((container, content, depth))
            return container
        if node[0] in _FILLERS:  # filled later: it may hold itself
            container = _empty(node)
            self._unfilled.append((container, node, depth))
            return container
        build = _BUILDERS.get(node[0])
        return build(self, node, depth) if build is not None else self._decode_other(self, node)


def _empty(node: Node) -> Any:
    """Return an empty container for a node of a mutable kind."""
    kind = node[0]
    if kind == "D":
        return collections.defaultdict(None if node[2] is None else BUILTIN_TYPES[node[2]])
    return collections.deque(maxlen=node[2]) if kind == "q" else _CONTAINERS[kind]()


def _fill_list(decoder: ValueDecoder, container: Any, node: Node, depth: int) -> None:
    values = decoder.decode_items(node[1], depth)
    container.clear()
    container.extend(values)


def _fill_set(decoder: ValueDecoder, container: Any, node: Node, depth: int) -> None:
    values = decoder.decode_items(node[1], depth)
    container.clear()
    container.update(values)


def _fill_dictionary(decoder: ValueDecoder, container: Any, node: Node, depth: int) -> None:
    pairs = [(decoder.decode_value(key, depth + 1), decoder.decode_value(item, depth + 1)) for key, item in node[1]]
    container.clear()
    for key, item in pairs:
        dict.__setitem__(container, key, item) if type(container) is dict else container.__setitem__(key, item)


def _fill_bytes(decoder: ValueDecoder, container: Any, node: Node, depth: int) -> None:
    del decoder, depth
    container[:] = node[1].encode("latin-1")


_CONTAINERS: Mapping[str, Callable[[], Any]] = {
    "l": list,
    "s": set,
    "d": dict,
    "O": collections.OrderedDict,
    "C": collections.Counter,
    "B": bytearray,
}
_FILLERS: Mapping[str, Callable[[ValueDecoder, Any, Node, int], None]] = {
    "l": _fill_list,
    "q": _fill_list,
    "s": _fill_set,
    "d": _fill_dictionary,
    "O": _fill_dictionary,
    "C": _fill_dictionary,
    "D": _fill_dictionary,
    "B": _fill_bytes,
}


def _named_tuple(decoder: ValueDecoder, node: Node, depth: int) -> Any:
    _, name, fields, items = node
    if not all(type(each) is str and len(each) <= _MAX_NAME for each in [name, *fields]):
        raise ProtocolError("an invalid named tuple")
    return collections.namedtuple(name, fields)(*decoder.decode_items(items, depth))


def _float(text: str) -> float:
    if text not in {"inf", "-inf", "nan"}:
        raise ProtocolError("an invalid number")
    return float(text)


def _builtin_type(name: str) -> type:
    return BUILTIN_TYPES.get(name) or BUILTIN_EXCEPTIONS[name]


def _timezone(decoder: ValueDecoder, node: Node, depth: int) -> datetime.timezone:
    offset = decoder.decode_value(node[1], depth + 1)
    zone = datetime.timezone(offset)
    return zone if zone.tzname(None) == node[2] else datetime.timezone(offset, node[2])


def _moment(kind: Any, decoder: ValueDecoder, node: Node, depth: int) -> Any:
    return kind(*node[1], tzinfo=decoder.decode_value(node[2], depth + 1), fold=node[3])


_BUILDERS: Mapping[str, Callable[[ValueDecoder, Node, int], Any]] = {
    "i": lambda _, node, __: int(node[1], 16),
    "f": lambda _, node, __: _float(node[1]),
    "c": lambda decoder, node, depth: complex(*decoder.decode_items(node[1:3], depth)),
    "S": lambda _, node, __: str(node[1]),
    "b": lambda _, node, __: node[1].encode("latin-1"),
    "t": lambda decoder, node, depth: tuple(decoder.decode_items(node[1], depth)),
    "z": lambda decoder, node, depth: frozenset(decoder.decode_items(node[1], depth)),
    "N": _named_tuple,
    "M": lambda _, node, __: decimal.Decimal(node[1]),
    "R": lambda decoder, node, depth: fractions.Fraction(*decoder.decode_items(node[1:3], depth)),
    "dt": lambda decoder, node, depth: _moment(datetime.datetime, decoder, node, depth),
    "dd": lambda _, node, __: datetime.date(*node[1]),
    "dm": lambda decoder, node, depth: _moment(datetime.time, decoder, node, depth),
    "du": lambda _, node, __: datetime.timedelta(*node[1]),
    "dz": _timezone,
    "g": lambda decoder, node, depth: range(*decoder.decode_items(node[1], depth)),
    "L": lambda decoder, node, depth: slice(*decoder.decode_items(node[1], depth)),
    "v": lambda decoder, node, depth: rebuild_dictionary_view(node[1], decoder.decode_items(node[2], depth)),
    "T": lambda _, node, __: _builtin_type(node[1]),
    "e": lambda _, __, ___: Ellipsis,
    "n": lambda _, __, ___: NotImplemented,
}
