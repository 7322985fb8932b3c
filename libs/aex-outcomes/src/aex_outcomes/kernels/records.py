"""Comparison of delivered records with expected ones: matching, counts of fields, and scores."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from aex_outcomes.kernels.assignment import assign_rows
from aex_outcomes.kernels.comparators import FieldComparator
from aex_outcomes.kernels.forms import Form


class FieldCounts(NamedTuple):
    """Numbers of a field's values by their result; values that are absent on both sides are not counted."""

    correct: int = 0
    wrong: int = 0
    missing: int = 0
    """Values that only the expected record has."""
    spurious: int = 0
    """Values that only the delivered record has."""


@dataclass(frozen=True, slots=True)
class FieldColumn:
    """Values of one field in all records of both sides, in the forms of its comparator."""

    comparator: FieldComparator
    expected: Sequence[Form]
    delivered: Sequence[Form]


class RecordsComparison(NamedTuple):
    """Result of comparing delivered records with expected ones."""

    fields: Sequence[FieldCounts]
    """Counts of each field, in the order of the columns."""
    expected: int
    """Number of expected records."""
    delivered: int
    """Number of delivered records."""
    right: int
    """Number of matched records in which no field is wrong, missing or spurious."""


class RecordScores(NamedTuple):
    """Scores of delivered records, each from 0 to 1; 0/0 is 0."""

    field_precision: float
    field_recall: float
    field_f1: float
    field_accuracy: float
    record_f1: float


def match_by_key(expected: Sequence[Form], delivered: Sequence[Form]) -> list[int | None]:
    """Return for each expected record the position of the delivered one with the same key, else None.

    Keys are given in the order of the records; a key that is None matches nothing. Keys of one side must differ.
    """
    positions = {key: position for position, key in enumerate(delivered) if key is not None}
    return [positions.get(key) for key in expected]


def match_by_fields(columns: Sequence[FieldColumn]) -> list[int | None]:
    """Return for each expected record the position of the delivered one, so that most fields are correct.

    As many records are matched as the shorter side has. Of several best assignments, the one is returned that gives the
    first expected record the earliest delivered one, then the second, and so on. Raises `TooMuchToCompare`.
    """
    size = len(columns[0].delivered)
    # Each integer has a byte for each delivered record: one addition counts a field (of 255 at most) for all of them.
    rows = [0] * len(columns[0].expected)
    for column in columns:
        records_by_form: dict[Form, int] = {}
        for position, form in enumerate(column.delivered):
            if form is not None:
                records_by_form[form] = records_by_form.get(form, 0) | 1 << 8 * position
        find = column.comparator.index(records_by_form)
        agreeing = {
            form: sum(records_by_form[each] for each in find(form)) for form in {*column.expected} if form is not None
        }
        for position, form in enumerate(column.expected):
            rows[position] += agreeing.get(form, 0)
    return assign_rows([row.to_bytes(size, "little") for row in rows], size)


def compare_records(
    columns: Iterable[FieldColumn], matches: Sequence[int | None], delivered_count: int
) -> RecordsComparison:
    """Count the fields of all records, and the records that are completely right.

    `matches`: for each expected record the position of its delivered one, or None. Raises `TooMuchToCompare`.
    """
    pairs = [(row, position) for row, position in enumerate(matches) if position is not None]
    taken = {position for _, position in pairs}
    right = {row for row, _ in pairs}
    counts: list[FieldCounts] = []
    for column in columns:
        correct = wrong = 0
        missing = sum(form is not None for form, match in zip(column.expected, matches, strict=True) if match is None)
        spurious = sum(form is not None for position, form in enumerate(column.delivered) if position not in taken)
        for row, position in pairs:
            expected, delivered = column.expected[row], column.delivered[position]
            if expected is None and delivered is None:
                continue
            if expected is not None and delivered is not None and column.comparator.agree(expected, delivered):
                correct += 1
                continue
            right.discard(row)
            missing += delivered is None
            spurious += expected is None
            wrong += expected is not None and delivered is not None
        counts.append(FieldCounts(correct, wrong, missing, spurious))
    return RecordsComparison(counts, len(matches), delivered_count, len(right))


def compute_record_scores(comparison: RecordsComparison) -> RecordScores:
    """Return precision, recall, F1 and accuracy of all fields together, and the F1 of complete records."""
    correct, wrong, missing, spurious = map(sum, zip(*comparison.fields, strict=True))
    delivered, expected = correct + wrong + spurious, correct + wrong + missing
    return RecordScores(
        field_precision=_divide(correct, delivered),
        field_recall=_divide(correct, expected),
        field_f1=_divide(2 * correct, delivered + expected),
        field_accuracy=_divide(correct, correct + wrong + missing + spurious),
        record_f1=_divide(2 * comparison.right, comparison.expected + comparison.delivered),
    )


def _divide(part: int, total: int) -> float:
    return part / total if total else 0.0
