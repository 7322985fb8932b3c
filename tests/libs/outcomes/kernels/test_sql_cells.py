"""Cells between processes, and expected cells that JSON has only as texts."""

import json
import math
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from aex_outcomes.kernels.sql_cells import decode_cell, encode_cell, interpret_expected_rows

DAY = datetime.fromisoformat("2024-01-31")


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        (None, None),
        (True, True),
        (7, 7),
        (2**80, Decimal(2**80)),
        (1.5, 1.5),
        (math.inf, math.inf),
        (Decimal("1.10"), Decimal("1.10")),
        ("a", "a"),
        (b"\xff", b"\xff"),
        (date(2024, 1, 31), DAY),
        (DAY.replace(microsecond=5), DAY.replace(microsecond=5)),
        (datetime(2024, 1, 31, 10, tzinfo=timezone(timedelta(hours=2))), DAY.replace(hour=8)),
        (time(10, 30), time(10, 30)),
        (time(10, 30, tzinfo=UTC), "10:30:00+00:00"),
        (timedelta(days=1, microseconds=500_000), Decimal("86400.5")),
        (UUID(int=5), "00000000-0000-0000-0000-000000000005"),
        ((1, [None, "x"]), [1, [None, "x"]]),
        ({"a": b"", 2: 1.0}, {"a": b"", "2": 1.0}),
    ],
)
def test_value_of_the_database_arrives_as_cell(value: Any, cell: Any) -> None:
    arrived = decode_cell(json.loads(json.dumps(encode_cell(value), allow_nan=False)))
    assert arrived == cell
    assert type(arrived) is type(cell)


def test_nan_arrives() -> None:
    assert math.isnan(decode_cell(encode_cell(math.nan)))


NO_CELLS: list[Any] = [
    {},
    {"number": "x"},
    {"number": "NaN"},
    {"number": 1.5, "float": 1},
    {"other": 1},
    {"bytes": "é"},
    {"datetime": 5},
    {"time": "x"},
    {"struct": 3},
    {"struct": [[1]]},
    [{"float": []}],
]


@pytest.mark.parametrize("encoded", NO_CELLS)
def test_what_no_honest_worker_sends_is_refused(encoded: Any) -> None:
    with pytest.raises(ValueError, match=r"."):
        decode_cell(encoded)


@pytest.mark.parametrize(
    ("actual", "text", "read"),
    [
        (DAY, "2024-01-31", DAY),
        (DAY, "2024-01-31T10:00:00+02:00", DAY.replace(hour=8)),
        (DAY, "January", "January"),
        (time(10), "10:30", time(10, 30)),
        (b"", "qrs=", b"\xaa\xbb"),
        (b"", "qrs", "qrs"),
        (5, "9223372036854775807", Decimal(2**63 - 1)),
        (1.5, "Infinity", math.inf),
        (Decimal(1), "x", "x"),
        ("2024", "2024-01-31", "2024-01-31"),
        (True, "1", "1"),
    ],
)
def test_text_is_read_as_what_the_column_has(actual: Any, text: str, read: Any) -> None:
    assert interpret_expected_rows([[text, 1]], [[actual, None], [None, None]]) == [[read, 1]]


def test_texts_in_lists_and_structs_are_read_too() -> None:
    actual = [[[DAY], {"a": b""}]]
    assert interpret_expected_rows([[["2024-01-31", None], {"a": "qrs="}]], actual) == [
        [[DAY, None], {"a": b"\xaa\xbb"}]
    ]


def test_texts_stay_in_columns_of_no_certain_kind() -> None:
    assert interpret_expected_rows([["1"]], []) == [["1"]]
    assert interpret_expected_rows([["1"]], [[None]]) == [["1"]]
    assert interpret_expected_rows([["1"]], [["x"], [1]]) == [["1"]]
    assert interpret_expected_rows([["1"]], [[1, 2]]) == [["1"]]
