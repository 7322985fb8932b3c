"""Figures of evidence: shape and completeness."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_governance.review.escaped_text import EscapedText
from aex_governance.review.figures import LONG_TEXT, MAX_DEPTH, Figure, Grid, Items, Number, Text, build_json_figure

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


def plain_text(escaped: EscapedText) -> str:
    return "".join(each.text for each in escaped.pieces)


def text_of(found: Figure | None) -> str:
    assert isinstance(found, Text | Number)
    return plain_text(found.text) if isinstance(found, Text) else found.text


def values(value: Any) -> Iterator[str]:
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
def test_figure_has_every_name_and_value(value: Any) -> None:
    text = repr(build_json_figure(value))
    for each in values(value):
        assert each in text


def test_similar_rows_are_a_table() -> None:
    found = build_json_figure([{"start": 1, "kind": "a"}, {"start": 2, "kind": "b", "score": 1}])
    assert isinstance(found, Grid)
    assert [plain_text(each) for each in found.columns] == ["kind", "start", "score"]
    assert found.rows[0][2] is None


def test_compared_columns_stand_side_by_side() -> None:
    mismatch = {"claimed": 11.17, "name": "mean_fitness", "note": "", "recomputed": -0.4, "severity": "critical"}
    table = build_json_figure([mismatch, mismatch])
    assert isinstance(table, Grid)
    names = [plain_text(each) for each in table.columns]
    assert names == ["name", "severity", "claimed", "recomputed", "note"]


def test_named_rows_are_a_table_with_row_names() -> None:
    found = build_json_figure({"rougeL": {"claimed": 1, "extracted": None}, "f1": {"claimed": 2, "extracted": 0.5}})
    assert isinstance(found, Grid)
    assert found.has_row_names
    assert [text_of(cell) for cell in found.rows[0]] == ["rougeL", "1", "not known"]


@pytest.mark.parametrize(
    "value",
    [
        [{"a": 1}, 2],
        [{"a": 1}, {}],
        [{f"name{number}": 1 for number in range(9)}],
        [{"a": 1}, {"b": 1}, {"c": 1}, {"d": 1}, {"e": 1}],
    ],
)
def test_dissimilar_rows_are_no_table(value: Any) -> None:
    assert isinstance(build_json_figure(value), Items)


def test_unknown_differs_from_zero_and_empty() -> None:
    empty: tuple[Any, ...] = (None, 0, "", [], {})
    assert [text_of(build_json_figure(each)) for each in empty] == [
        "not known",
        "0",
        "empty text",
        "nothing",
        "nothing",
    ]


def test_long_texts_and_tables_are_folded_and_complete() -> None:
    text, rows = build_json_figure("a" * (LONG_TEXT + 1)), build_json_figure([{"a": number} for number in range(100)])
    assert isinstance(text, Text)
    assert isinstance(rows, Grid)
    assert (text.is_long, rows.is_long) == (True, True)
    assert (text.text.length, len(rows.rows)) == (LONG_TEXT + 1, 100)


def test_deep_values_are_json() -> None:
    value: Any = "bottom\u202e"
    for _ in range(MAX_DEPTH + 200):
        value = {"down": value}
    text = repr(build_json_figure(value))
    assert "bottom" in text
    assert "U+202E" in text
