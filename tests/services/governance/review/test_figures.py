"""Evidence as figures: the shape follows the values, and every leaf is there."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_governance.review.figures import LONG_TEXT, MAX_DEPTH, Facts, Figure, Grid, Items, Number, Text, figure
from aex_governance.review.visible import Visible

LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text("abc ", min_size=1, max_size=9)
)
JSON = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text("xyz", min_size=1, max_size=4), inner, max_size=4)
    ),
    max_leaves=20,
)


def said(shown: Visible) -> str:
    return "".join(each.text for each in shown.pieces)


def leaves(found: Figure | None) -> Iterator[str]:
    """Every text and number of a figure, the names too."""
    match found:
        case Text():
            yield said(found.shown)
        case Number():
            yield found.shown
        case Facts():
            for name, each in found.rows:
                yield said(name)
                yield from leaves(each)
        case Grid():
            yield from map(said, found.columns)
            for row in found.rows:
                for cell in row:
                    yield from leaves(cell)
        case Items():
            for each in found.items:
                yield from leaves(each)


def values(value: Any) -> Iterator[str]:
    """The names and the texts and numbers of a JSON value."""
    if isinstance(value, dict):
        for name, each in value.items():
            yield name
            yield from values(each)
    elif isinstance(value, list):
        for each in value:
            yield from values(each)
    elif isinstance(value, str):
        yield value
    elif value is not None and not isinstance(value, bool):
        yield str(value)


@given(JSON)
def test_every_name_and_every_value_is_in_the_figure(value: Any) -> None:
    shown = "\n".join(leaves(figure(value)))
    for each in values(value):
        assert each in shown


def test_rows_of_one_shape_are_a_table() -> None:
    found = figure([{"start": 1, "kind": "a"}, {"start": 2, "kind": "b", "score": 1}])
    assert isinstance(found, Grid)
    assert [said(each) for each in found.columns] == ["kind", "start", "score"]
    assert found.rows[0][2] is None


def test_what_is_compared_stands_side_by_side() -> None:
    mismatch = {"claimed": 11.17, "name": "mean_fitness", "note": "", "recomputed": -0.4, "severity": "critical"}
    table = figure([mismatch, mismatch])
    assert isinstance(table, Grid)
    told = [said(each) for each in table.columns]
    assert told == ["name", "severity", "claimed", "recomputed", "note"]


def test_named_rows_of_one_shape_are_a_table_with_their_names_in_front() -> None:
    found = figure({"rougeL": {"claimed": 1, "extracted": None}, "f1": {"claimed": 2, "extracted": 0.5}})
    assert isinstance(found, Grid)
    assert found.named
    assert [next(leaves(cell)) for cell in found.rows[0]] == ["rougeL", "1", "not known"]


@pytest.mark.parametrize(
    "value",
    [
        [{"a": 1}, 2],
        [{"a": 1}, {}],
        [{f"name{number}": 1 for number in range(9)}],
        [{"a": 1}, {"b": 1}, {"c": 1}, {"d": 1}, {"e": 1}],
    ],
)
def test_rows_that_are_too_unlike_are_no_table(value: Any) -> None:
    assert isinstance(figure(value), Items)


def test_unknown_is_neither_zero_nor_empty() -> None:
    empty: tuple[Any, ...] = (None, 0, "", [], {})
    assert [next(leaves(figure(each))) for each in empty] == ["not known", "0", "empty text", "nothing", "nothing"]


def test_long_texts_and_many_rows_are_folded_and_whole() -> None:
    text, rows = figure("a" * (LONG_TEXT + 1)), figure([{"a": number} for number in range(100)])
    assert isinstance(text, Text)
    assert isinstance(rows, Grid)
    assert (text.long, rows.long) == (True, True)
    assert (text.shown.length, len(rows.rows)) == (LONG_TEXT + 1, 100)


def test_what_lies_deeper_than_a_reader_follows_is_json() -> None:
    value: Any = "bottom\u202e"
    for _ in range(MAX_DEPTH + 200):
        value = {"down": value}
    assert "bottomU+202E" in "".join(leaves(figure(value)))
