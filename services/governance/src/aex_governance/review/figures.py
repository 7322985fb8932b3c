"""View models that display any JSON value on a page: text, number, list, or table of similar rows."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from aex_governance.review.escaped_text import EscapedText, escape_hidden_characters

MAX_DEPTH = 5
"""Nesting level below which a value is displayed as JSON text."""
MAX_COLUMNS = 8
LONG_TEXT, START = 280, 100
MANY_ROWS = 12
"""Number of rows above which a value is collapsed until the reader opens it."""
_FIRST = (
    *("name", "metric", "rule", "kind"),
    *("severity", "claimed", "extracted", "recomputed", "relative_error", "value", "min", "max"),
)
"""Columns that come first in a table: names, then the figures to compare. Stored evidence is sorted by name."""


@dataclass(frozen=True, slots=True)
class Text:
    """Text; a long one is collapsed, and only `start` is visible at first."""

    text: EscapedText
    start: EscapedText
    is_long: bool
    kind: str = "text"


@dataclass(frozen=True, slots=True)
class Number:
    """Number, or words such as `not known` in place of a missing value (`is_word`)."""

    text: str
    is_word: bool = False
    kind: str = "number"


@dataclass(frozen=True, slots=True)
class FactList:
    """Named values of a mapping."""

    rows: tuple[tuple[EscapedText, "Figure"], ...]
    is_long: bool
    kind: str = "facts"


@dataclass(frozen=True, slots=True)
class Grid:
    """Table of rows with similar fields. With `has_row_names` the first column is the name of each row."""

    columns: tuple[EscapedText, ...]
    rows: tuple[tuple["Figure | None", ...], ...]
    has_row_names: bool
    is_long: bool
    kind: str = "grid"


@dataclass(frozen=True, slots=True)
class Items:
    """List of values. A flat one has only scalars and fits on one line."""

    items: tuple["Figure", ...]
    is_flat: bool
    is_long: bool
    kind: str = "items"


Figure: TypeAlias = Text | Number | FactList | Grid | Items


def build_json_figure(value: Any, depth: int = 0) -> Figure:
    """Return the view model that displays a JSON value. `depth` is its nesting level."""
    if isinstance(value, str):
        return _text(value)
    if not isinstance(value, Mapping | Sequence):
        return _to_number(value)
    if not value:
        return Number("nothing", is_word=True)
    if depth >= MAX_DEPTH:
        return _text(json.dumps(value, ensure_ascii=False, indent=1, default=str))
    if isinstance(value, Mapping):
        return _grid_of_named(value, depth) or _facts(value, depth)
    return _grid(value, depth) or _items(value, depth)


def _text(value: str) -> Figure:
    if not value:
        return Number("empty text", is_word=True)
    return Text(escape_hidden_characters(value), escape_hidden_characters(value[:START]), len(value) > LONG_TEXT)


def _to_number(value: Any) -> Number:
    if value is None:
        return Number("not known", is_word=True)
    if isinstance(value, bool):
        return Number("yes" if value else "no", is_word=True)
    return Number(str(value))


def _facts(value: Mapping[Any, Any], depth: int) -> FactList:
    rows = tuple(
        (escape_hidden_characters(str(name)), build_json_figure(each, depth + 1)) for name, each in value.items()
    )
    return FactList(rows, len(rows) > MANY_ROWS)


def _grid_of_named(value: Mapping[Any, Any], depth: int) -> Grid | None:
    """Return a table of a mapping whose values are rows with similar fields; None for other mappings."""
    columns = _columns(list(value.values()))
    if columns is None or len(value) < 2:
        return None
    rows = tuple((build_json_figure(str(name)), *_cells(each, columns, depth)) for name, each in value.items())
    return Grid(
        (escape_hidden_characters("name"), *map(escape_hidden_characters, columns)),
        rows,
        has_row_names=True,
        is_long=len(rows) > MANY_ROWS,
    )


def _grid(value: Sequence[Any], depth: int) -> Grid | None:
    columns = _columns(value)
    if columns is None:
        return None
    rows = tuple(_cells(each, columns, depth) for each in value)
    return Grid(tuple(map(escape_hidden_characters, columns)), rows, has_row_names=False, is_long=len(rows) > MANY_ROWS)


def _columns(rows: Sequence[Any]) -> tuple[str, ...] | None:
    """Return the column names of rows with similar fields; None if they do not make a table."""
    if not rows or not all(isinstance(each, Mapping) and each for each in rows):
        return None
    found = dict.fromkeys(str(name) for each in rows for name in each)
    names = tuple(sorted(found, key=lambda name: _FIRST.index(name) if name in _FIRST else len(_FIRST)))
    filled = sum(len(each) for each in rows)
    return names if len(names) <= MAX_COLUMNS and 2 * filled >= len(names) * len(rows) else None


def _cells(row: Mapping[Any, Any], columns: Sequence[str], depth: int) -> tuple[Figure | None, ...]:
    values = {str(name): each for name, each in row.items()}
    return tuple(build_json_figure(values[name], depth + 2) if name in values else None for name in columns)


def _items(value: Sequence[Any], depth: int) -> Items:
    items = tuple(build_json_figure(each, depth + 1) for each in value)
    is_scalar = all(not isinstance(each, Mapping | list | tuple) for each in value)
    is_flat = is_scalar and sum(len(str(each)) for each in value) <= LONG_TEXT
    return Items(items, is_flat, len(items) > MANY_ROWS and not is_flat)
