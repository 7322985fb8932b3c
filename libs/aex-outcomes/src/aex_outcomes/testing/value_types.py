"""Types of values that cross between tester and candidate by value, and their plain forms.

Only exact types cross. A value of a subclass crosses as the plain value it holds, so that no method of the candidate
runs in the tester.
"""

import builtins
import collections
import datetime
import decimal
import fractions
from collections.abc import Callable, Mapping
from typing import Any

BUILTIN_TYPES: Mapping[str, type] = {
    name: value
    for name, value in vars(builtins).items()
    if isinstance(value, type) and value.__module__ == "builtins" and not issubclass(value, BaseException)
}
"""Types that cross by their name."""
BUILTIN_EXCEPTIONS: Mapping[str, type[BaseException]] = {
    name: value
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, BaseException) and value.__name__ == name
}
"""Exception classes that cross by their name."""

_ALL = slice(None)
_PLAIN: Mapping[type, Callable[[Any], Any]] = {
    int: lambda value: int.__add__(value, 0),
    float: float.__pos__,
    complex: complex.__pos__,
    str: str.__str__,
    bytes: lambda value: bytes.__getitem__(value, _ALL),
    bytearray: lambda value: bytearray(bytearray.__getitem__(value, _ALL)),
    list: lambda value: list.__getitem__(value, _ALL),
    tuple: lambda value: tuple(tuple.__iter__(value)),
    set: lambda value: set(set.__iter__(value)),
    frozenset: lambda value: frozenset(frozenset.__iter__(value)),
    collections.OrderedDict: lambda value: collections.OrderedDict(dict.items(value)),
    collections.Counter: lambda value: collections.Counter(dict(dict.items(value))),
    collections.defaultdict: lambda value: collections.defaultdict(value.default_factory, dict.items(value)),
    dict: lambda value: dict(dict.items(value)),
    collections.deque: lambda value: collections.deque(collections.deque.__iter__(value), value.maxlen),
    decimal.Decimal: lambda value: decimal.Decimal(decimal.Decimal.__str__(value)),
    fractions.Fraction: lambda value: fractions.Fraction(value.numerator, value.denominator),
    datetime.datetime: lambda value: datetime.datetime.combine(
        datetime.datetime.date(value), datetime.datetime.timetz(value)
    ),
    datetime.date: lambda value: datetime.date(value.year, value.month, value.day),
    datetime.time: datetime.time.replace,
    datetime.timedelta: datetime.timedelta.__pos__,
}
"""Conversions of a subclass's value to its plain type; the most specific types stand first."""
_VIEWS = {type({}.keys()): "keys", type({}.values()): "values", type({}.items()): "items"}


def to_plain_value(value: Any) -> Any:
    """Return the plain value that a value of a subclass holds; any other value unchanged."""
    kind = type(value)
    if kind in _PLAIN or kind is bool:
        return value
    for plain, convert in _PLAIN.items():
        if issubclass(kind, plain):
            return convert(value)
    return value


def is_named_tuple(value: Any) -> bool:
    """Return True if the value is a tuple with names of its fields, as `collections.namedtuple` makes it."""
    fields = getattr(type(value), "_fields", None)
    return (
        isinstance(value, tuple)
        and isinstance(fields, tuple)
        and len(fields) == tuple.__len__(value)
        and all(type(each) is str for each in fields)
    )


def dictionary_view_kind(value: Any) -> str | None:
    """Return `keys`, `values` or `items` for a view of a dictionary; None for another value."""
    return _VIEWS.get(type(value))


def rebuild_dictionary_view(kind: str, items: list[Any]) -> Any:
    """Return a view that equals one of this kind with these items."""
    if kind == "keys":
        return dict.fromkeys(items).keys()
    return dict(items).items() if kind == "items" else dict(enumerate(items)).values()


def split_exception_bases(kind: type[BaseException]) -> tuple[list[type[BaseException]], type[BaseException]]:
    """Return the classes of an exception up to its first built-in base, and that base."""
    own: list[type[BaseException]] = []
    for each in kind.__mro__:
        if BUILTIN_EXCEPTIONS.get(each.__name__) is each:
            return own, each
        if issubclass(each, BaseException):
            own.append(each)
    return own, Exception
