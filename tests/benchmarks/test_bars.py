"""The table says of each row what its figures come to."""

import pytest

from tests.benchmarks.bars import Finding, Line, Row, Unit, table
from tests.benchmarks.sides import Comparison


@pytest.mark.parametrize(
    ("unit", "ours", "theirs", "bar", "met"),
    [
        (Unit.OPERATIONS, 300.0, 3.0, 100, True),
        (Unit.OPERATIONS, 299.0, 3.0, 100, False),
        (Unit.RATE, 600.0, 1_000.0, 0.6, True),
        (Unit.RATE, 599.0, 1_000.0, 0.6, False),
        (Unit.SECONDS, 0.9, 0.3, 3.0, True),
        (Unit.SECONDS, 0.91, 0.3, 3.0, False),
        (Unit.SECONDS, 5.0, 0.1, None, None),
    ],
)
def test_a_bar_is_the_least_of_rates_and_the_most_of_times(
    unit: Unit, ours: float, theirs: float, bar: float | None, met: bool | None
) -> None:
    assert Row("a", "b", ours, theirs, bar, unit).met is met


def test_a_row_of_operations_tells_the_time_of_one() -> None:
    row = Row.of(Comparison("rouge", ours=20_000, raw=8), "RougeScorer", 100)
    assert row.cells() == ("rouge", "RougeScorer", "50 us", "125.0 ms", "2500x", "≥ 100x", "yes")


def test_the_table_has_a_line_for_each_row_with_what_is_missed_in_capitals() -> None:
    rows: list[Line] = [
        Row("POST /v1/work", "bare route", 500.0, 1_000.0, 0.6, Unit.RATE),
        Row("start", "bare app", 1.2, 1.0, 1.5, Unit.SECONDS),
        Row("start, processor time", "bare app", 1.2, 1.0, None, Unit.SECONDS),
        Finding("imported", "scikit-learn", "900 modules, with sklearn", met=False),
    ]
    head, *lines = table(rows).splitlines()
    assert head.split() == ["against", "ours", "theirs", "ratio", "bar", "met"]
    assert [line.split()[-1] for line in lines] == ["NO", "yes", "1.20x", "NO"]
    assert "500/s" in lines[0]
    assert "≥ 0.6x" in lines[0]
    assert "≤ 1.5x" in lines[1]
