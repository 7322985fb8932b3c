"""Evidence as readable figures: mappings as lists of facts, rows of one shape as tables, nothing left out. Pure."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from aex_governance.review.visible import Visible, visible

MAX_DEPTH = 5
"""Below it the rest is shown as JSON: a page nests no deeper than a reader follows."""
MAX_COLUMNS = 8
LONG_TEXT, START = 280, 100
MANY_ROWS = 12
"""What is longer is folded."""
_FIRST = (
    *("name", "metric", "rule", "kind"),
    *("severity", "claimed", "extracted", "recomputed", "relative_error", "value", "min", "max"),
)
"""Columns that tell what a row is about, then the figures to compare: stored evidence has its names in the order of
the alphabet."""


@dataclass(frozen=True, slots=True)
class Text:
    """A text; `long` where it is folded: then `start` is what one sees of it."""

    shown: Visible
    start: Visible
    long: bool
    kind: str = "text"


@dataclass(frozen=True, slots=True)
class Number:
    """A number as it is written; or a `word` of ours for what is none, such as `not known`."""

    shown: str
    word: bool = False
    kind: str = "number"


@dataclass(frozen=True, slots=True)
class Facts:
    """Named figures."""

    rows: tuple[tuple[Visible, "Figure"], ...]
    long: bool
    kind: str = "facts"


@dataclass(frozen=True, slots=True)
class Grid:
    """Rows of one shape. `named`: whether the first column names the row."""

    columns: tuple[Visible, ...]
    rows: tuple[tuple["Figure | None", ...], ...]
    named: bool
    long: bool
    kind: str = "grid"


@dataclass(frozen=True, slots=True)
class Items:
    """A list. `flat`: short and without parts of its own, so that it fits a line."""

    items: tuple["Figure", ...]
    flat: bool
    long: bool
    kind: str = "items"


Figure: TypeAlias = Text | Number | Facts | Grid | Items


def figure(value: Any, depth: int = 0) -> Figure:
    """A JSON value as a figure."""
    if isinstance(value, str):
        return _text(value)
    if not isinstance(value, Mapping | Sequence):
        return _number(value)
    if not value:
        return Number("nothing", word=True)
    if depth >= MAX_DEPTH:
        return _text(json.dumps(value, ensure_ascii=False, indent=1, default=str))
    if isinstance(value, Mapping):
        return _grid_of_named(value, depth) or _facts(value, depth)
    return _grid(value, depth) or _items(value, depth)


def _text(value: str) -> Figure:
    if not value:
        return Number("empty text", word=True)
    return Text(visible(value), visible(value[:START]), len(value) > LONG_TEXT)


def _number(value: Any) -> Number:
    if value is None:
        return Number("not known", word=True)
    if isinstance(value, bool):
        return Number("yes" if value else "no", word=True)
    return Number(str(value))


def _facts(value: Mapping[Any, Any], depth: int) -> Facts:
    rows = tuple((visible(str(name)), figure(each, depth + 1)) for name, each in value.items())
    return Facts(rows, len(rows) > MANY_ROWS)


def _grid_of_named(value: Mapping[Any, Any], depth: int) -> Grid | None:
    """A mapping whose values are rows of one shape: a table with their names in front."""
    columns = _columns(list(value.values()))
    if columns is None or len(value) < 2:
        return None
    rows = tuple((figure(str(name)), *_cells(each, columns, depth)) for name, each in value.items())
    return Grid((visible("name"), *map(visible, columns)), rows, named=True, long=len(rows) > MANY_ROWS)


def _grid(value: Sequence[Any], depth: int) -> Grid | None:
    columns = _columns(value)
    if columns is None:
        return None
    rows = tuple(_cells(each, columns, depth) for each in value)
    return Grid(tuple(map(visible, columns)), rows, named=False, long=len(rows) > MANY_ROWS)


def _columns(rows: Sequence[Any]) -> tuple[str, ...] | None:
    """The names that rows share; None where they are no rows, or too unlike each other for a table."""
    if not rows or not all(isinstance(each, Mapping) and each for each in rows):
        return None
    met = dict.fromkeys(str(name) for each in rows for name in each)
    names = tuple(sorted(met, key=lambda name: _FIRST.index(name) if name in _FIRST else len(_FIRST)))
    filled = sum(len(each) for each in rows)
    return names if len(names) <= MAX_COLUMNS and 2 * filled >= len(names) * len(rows) else None


def _cells(row: Mapping[Any, Any], columns: Sequence[str], depth: int) -> tuple[Figure | None, ...]:
    """None where a row has no such figure: that is not the same as one that is not known."""
    named = {str(name): each for name, each in row.items()}
    return tuple(figure(named[name], depth + 2) if name in named else None for name in columns)


def _items(value: Sequence[Any], depth: int) -> Items:
    items = tuple(figure(each, depth + 1) for each in value)
    scalar = all(not isinstance(each, Mapping | list | tuple) for each in value)
    flat = scalar and sum(len(str(each)) for each in value) <= LONG_TEXT
    return Items(items, flat, len(items) > MANY_ROWS and not flat)
