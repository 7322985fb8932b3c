"""Extractor of scores that compare extracted records with the expected ones, field by field."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from aex_models.catalog import MetricEntry
from aex_models.grader_data import ExpectedRecords
from aex_models.thresholds import MetricType
from aex_models.work import Problem
from aex_outcomes.extractors.catalog_entries import build_secret_score_entry
from aex_outcomes.extractors.expected_records import (
    COMPARISON_NS,
    MAX_RECORDS,
    MAX_WITHOUT_KEY,
    build_keys,
    check_expected_records,
    find_repeated_keys,
    read_field_forms,
)
from aex_outcomes.extractors.protocol import AgentFault, Detailed, Metrics
from aex_outcomes.extractors.text_quality import require_json_pointer
from aex_outcomes.json_values import resolve_first_pointer
from aex_outcomes.kernels.comparators import build_comparator
from aex_outcomes.kernels.forms import TimeBudget, TooMuchToCompare
from aex_outcomes.kernels.records import (
    FieldColumn,
    RecordsComparison,
    compare_records,
    compute_record_scores,
    match_by_fields,
    match_by_key,
)

_DESCRIPTIONS = {
    "field_precision": "Share of the delivered fields that are correct.",
    "field_recall": "Share of the expected fields that are delivered correctly.",
    "field_f1": "Harmonic mean of `field_precision` and `field_recall`.",
    "field_accuracy": "Share of correct fields among all correct, wrong, missing and spurious ones.",
    "record_f1": "F1 score of complete records: one is right if all of its fields are.",
}


@dataclass(frozen=True, slots=True)
class RecordsExtractor:
    """Extractor of scores of the records that an agent extracted.

    The records are a list of objects, or one object, at the location. Records correspond by the fields in `key`, else
    by the assignment with most correct fields. Null is absent. A record with none of the fields in `key` corresponds to
    no expected one. Details are the counts of correct, wrong, missing and spurious values of each field.
    """

    records_pointer: str = "/records"
    """JSON pointer to the records in the output, where the evaluation data name no other."""
    _named_pointer: str | None = None
    """JSON pointer of named data, which replaces all others."""
    version = "1"

    def __post_init__(self) -> None:
        require_json_pointer(self.records_pointer)

    def at_pointer(self, pointer: str) -> "RecordsExtractor":
        """Return an extractor that reads the records at this JSON pointer."""
        return replace(self, _named_pointer=pointer)

    async def extract(self, task_input: Mapping[str, Any], task_output: Any, metadata: Mapping[str, Any]) -> Metrics:
        """Return all scores with details if the output has records.

        Raises `AgentFault` for records of the wrong kind, too many, with a repeated key, or too costly to compare.
        """
        raw = task_input.get("records")
        if raw is None:
            return {}
        expected = ExpectedRecords.model_validate(raw)
        found = resolve_first_pointer(task_output, self._named_pointer, expected.at, self.records_pointer)
        if found is None:
            return {}
        comparison = _compare(expected, _list_records(found, is_keyed=expected.key is not None))
        details = {
            pointer: counts._asdict() for pointer, counts in zip(expected.fields, comparison.fields, strict=True)
        }
        return {name: Detailed(value, details) for name, value in compute_record_scores(comparison)._asdict().items()}

    def supported_metrics(self) -> list[str]:
        return [*_DESCRIPTIONS]

    def catalog_entries(self) -> tuple[MetricEntry, ...]:
        """Return the entries of all metrics, which are secret because the expected records determine them."""
        return tuple(
            build_secret_score_entry(name, MetricType.F1_SCORE, "records", text, self.records_pointer)
            for name, text in _DESCRIPTIONS.items()
        )

    def check_evaluation(self, evaluation: Mapping[str, Any]) -> Iterable[Problem]:
        """Yield the problems of the expected records that their model does not find."""
        return check_expected_records(evaluation.get("records"))


def _list_records(found: Any, *, is_keyed: bool) -> Sequence[Mapping[str, Any]]:
    """Return the delivered records. Raises `AgentFault` if they are no records, or too many."""
    records = [found] if isinstance(found, Mapping) else found
    if not isinstance(records, list | tuple):
        raise AgentFault("invalid_records", "expected records: an array of objects, or one object")
    limit = MAX_RECORDS if is_keyed else MAX_WITHOUT_KEY
    if len(records) > limit:
        raise AgentFault("too_many_records", f"{len(records)} records delivered; at most {limit} can be compared")
    for position, each in enumerate(records):
        if not isinstance(each, Mapping):
            raise AgentFault("invalid_records", f"record {position}: expected an object")
    return records


def _compare(expected: ExpectedRecords, records: Sequence[Mapping[str, Any]]) -> RecordsComparison:
    """Compare delivered records with the expected ones. Raises `AgentFault`."""
    items, fields, key, budget = expected.items, expected.fields, expected.key, TimeBudget(COMPARISON_NS)

    def read_column(pointer: str) -> FieldColumn:
        comparator = build_comparator(fields[pointer], budget)
        return FieldColumn(
            comparator, read_field_forms(items, pointer, comparator), read_field_forms(records, pointer, comparator)
        )

    try:
        if key is None:
            columns = [read_column(pointer) for pointer in fields]
            return compare_records(columns, match_by_fields(columns), len(records))
        keys = build_keys(records, fields, key, budget)
        for position, first in find_repeated_keys(keys):
            raise AgentFault("duplicate_id", f"records {first} and {position} have the same key")
        matches = match_by_key(build_keys(items, fields, key, budget), keys)
        # One column at a time: a million values would take too much memory.
        return compare_records(map(read_column, fields), matches, len(records))
    except TooMuchToCompare as error:
        raise AgentFault("records_too_costly", f"the records cannot be compared: {error}") from None
