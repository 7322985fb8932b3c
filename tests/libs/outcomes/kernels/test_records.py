from typing import Any

import pytest

from aex_models.grader_data import ExpectedRecords
from aex_outcomes.kernels.comparators import build_comparator
from aex_outcomes.kernels.forms import TimeBudget
from aex_outcomes.kernels.records import (
    FieldColumn,
    FieldCounts,
    RecordsComparison,
    compare_records,
    compute_record_scores,
    match_by_fields,
    match_by_key,
)


def columns(expected: list[list[Any]], delivered: list[list[Any]], specification: Any = "exact") -> list[FieldColumn]:
    """Columns of records that are given as lists of values."""
    fields = ExpectedRecords.model_validate({"items": [{}], "fields": {"/a": specification}}).fields
    found = build_comparator(fields["/a"], TimeBudget(1e9))

    def forms(records: list[list[Any]], column: int) -> list[Any]:
        return [None if each[column] is None else found.to_form(each[column]) for each in records]

    return [FieldColumn(found, forms(expected, each), forms(delivered, each)) for each in range(len(expected[0]))]


def test_records_match_where_most_fields_are_correct() -> None:
    found = columns([[1, "a"], [1, "b"], [2, "c"]], [[2, "b"], [1, "b"], [1, "x"]])
    assert match_by_fields(found) == [2, 1, 0]


def test_of_several_matchings_the_earliest_is_taken() -> None:
    assert match_by_fields(columns([[1], [1]], [[0], [1], [1]])) == [1, 2]
    assert match_by_fields(columns([[1], [2], [3]], [[9], [8]])) == [0, 1, None]


def test_200_fields_are_counted_without_overflow() -> None:
    found = columns([[7] * 200], [[7] * 199 + [8], [7] * 200])
    assert match_by_fields(found) == [1]


def test_nothing_delivered_matches_nothing() -> None:
    assert match_by_fields(columns([[1], [2]], [])) == [None, None]


def test_keys_match_if_they_are_equal_and_not_absent() -> None:
    assert match_by_key([("a",), ("b",), None], [None, ("b",), ("c",)]) == [None, 1, None]


def test_each_field_is_correct_wrong_missing_or_spurious() -> None:
    found = columns([[1, 2, 3, None, None], [5, 5, 5, None, None]], [[1, 9, None, 4, None], [None, None, 6, 6, None]])
    assert compare_records(found, [0, None], 2) == RecordsComparison(
        [
            FieldCounts(1, 0, 1, 0),
            FieldCounts(0, 1, 1, 0),
            FieldCounts(0, 0, 2, 1),
            FieldCounts(0, 0, 0, 2),
            FieldCounts(0, 0, 0, 0),
        ],
        expected=2,
        delivered=2,
        right=0,
    )


@pytest.mark.parametrize(
    ("comparison", "expected"),
    [
        (RecordsComparison([FieldCounts(1, 0, 1, 0)], 2, 1, 1), (1, 0.5, 2 / 3, 0.5, 2 / 3)),
        (RecordsComparison([FieldCounts(1, 1, 1, 1)], 2, 2, 0), (1 / 3, 1 / 3, 1 / 3, 0.25, 0)),
        (RecordsComparison([FieldCounts(2, 0, 0, 0), FieldCounts(0, 0, 0, 1)], 2, 2, 1), (2 / 3, 1, 0.8, 2 / 3, 0.5)),
        (RecordsComparison([FieldCounts()], 1, 0, 0), (0, 0, 0, 0, 0)),
    ],
)
def test_scores_by_their_definitions(comparison: RecordsComparison, expected: tuple[float, ...]) -> None:
    assert compute_record_scores(comparison) == pytest.approx(expected)
