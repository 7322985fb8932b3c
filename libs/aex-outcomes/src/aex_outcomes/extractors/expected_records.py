"""Checks of the expected records of `evaluation.records`, and the reading of their fields."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from pydantic import ValidationError

from aex_models.grader_data import Comparator, DateComparator, ExpectedRecords, FuzzyComparator, NumberComparator
from aex_models.work import Problem
from aex_outcomes.json_values import MISSING, join_pointer, resolve_pointer
from aex_outcomes.kernels.comparators import FieldComparator, build_comparator, estimate_similarity_ns
from aex_outcomes.kernels.dates import is_date_format
from aex_outcomes.kernels.forms import Form, Incomparable, TimeBudget, TooMuchToCompare

MAX_RECORDS = 5_000
MAX_WITHOUT_KEY = 300
"""Maximum of expected, and of delivered, records that are matched by their fields."""
COMPARISON_NS = 3_000_000_000
"""Maximum of the estimated time of a comparison."""
_EXPECTED_NS = COMPARISON_NS // 3
"""Maximum for the expected records alone, so that delivered ones may be twice as large."""
_MAX_FIELDS = 200
_MAX_PROBLEMS = 20
"""Maximum of problems of each kind that one answer lists."""


def read_field_forms(records: Iterable[Mapping[str, Any]], pointer: str, comparator: FieldComparator) -> list[Form]:
    """Return the field's form in each record, None where it is absent or null. Raises `TooMuchToCompare`."""
    to_form, read = comparator.to_form, _make_reader(pointer)
    return [None if (value := read(record)) is None else to_form(value) for record in records]


def _make_reader(pointer: str) -> Callable[[Mapping[str, Any]], Any]:
    """Return a function that reads a field of a record, and returns None for an absent one."""
    if pointer.count("/") == 1:  # the usual case, ten times as fast
        name = pointer[1:].replace("~1", "/").replace("~0", "~")
        return lambda record: record.get(name)
    return lambda record: None if (found := resolve_pointer(record, pointer)) is MISSING else found


def build_keys(
    records: Sequence[Mapping[str, Any]], fields: Mapping[str, Comparator], key: Sequence[str], budget: TimeBudget
) -> list[Form]:
    """Return each record's key: the forms of the values that identify it; None if all of them are absent.

    A value that is none of the fields is compared exactly. Raises `TooMuchToCompare`.
    """
    comparators = [build_comparator(fields.get(pointer, "exact"), budget) for pointer in key]
    parts = zip(
        *(read_field_forms(records, *each) for each in zip(key, comparators, strict=True)),
        strict=True,
    )
    return [None if all(form is None for form in each) else each for each in parts]


def find_repeated_keys(keys: Iterable[Form]) -> Iterator[tuple[int, int]]:
    """Yield the position of each key that occurred before, with that of its first occurrence."""
    first_of: dict[Form, int] = {}
    for position, key in enumerate(keys):
        if key is not None and (first := first_of.setdefault(key, position)) != position:
            yield position, first


def check_expected_records(raw: Any) -> Iterator[Problem]:
    """Yield the problems of expected records that their model does not find.

    `raw`: the data as sent; malformed parts are skipped, because the model reports them. Paths are below `evaluation`.
    """
    if not isinstance(raw, Mapping):
        return
    fields, listed, key = _parse_fields(raw.get("fields")), raw.get("items"), raw.get("key")
    items = [listed] if isinstance(listed, Mapping) else listed if isinstance(listed, list | tuple) else []
    records = [each if isinstance(each, Mapping) else {} for each in items[:MAX_RECORDS]]
    yield from _format_problems(fields)
    has_too_many = key is None and len(items) > MAX_WITHOUT_KEY
    if has_too_many:
        message = f"Without a key at most {MAX_WITHOUT_KEY} records can be matched; name identifying fields in key"
        yield Problem(path="/records/items", code="too_many_records", message=message)
    key = key if isinstance(key, list | tuple) else []
    key_fields = _parse_key_fields(key, raw.get("fields"))
    key_problems = list(_key_problems(key, key_fields))
    yield from key_problems
    budget, matches_by_fields = TimeBudget(_EXPECTED_NS), not key and not has_too_many
    try:
        value_problems = _value_problems(fields, records, budget, matches_by_fields=matches_by_fields)
        yield from islice(value_problems, _MAX_PROBLEMS)
        if key and not key_problems and all(isinstance(each, str) and each in key_fields for each in key):
            keys = build_keys(records, key_fields, key, budget)
            yield from islice(_item_key_problems(keys), _MAX_PROBLEMS)
    except TooMuchToCompare:
        message = "Comparing these records takes too long: shorten their texts, or divide them between works"
        yield Problem(path="/records", code="records_too_costly", message=message)


def _parse_fields(raw: Any) -> dict[str, Comparator]:
    """Return the comparators of those fields that are valid."""
    fields: dict[str, Comparator] = {}
    for pointer, specification in islice(raw.items(), _MAX_FIELDS) if isinstance(raw, Mapping) else ():
        try:
            fields |= ExpectedRecords.model_validate({"items": [{}], "fields": {pointer: specification}}).fields
        except ValidationError:
            continue
    return fields


def _parse_key_fields(key: Sequence[Any], fields: Any) -> dict[str, Comparator]:
    """Return the comparators of those parts of the key that are valid; `exact` where the fields have none."""
    known = fields if isinstance(fields, Mapping) else {}
    return _parse_fields({each: known.get(each, "exact") for each in key if isinstance(each, str)})


def _format_problems(fields: Mapping[str, Comparator]) -> Iterator[Problem]:
    for pointer, specification in fields.items():
        for position, each in enumerate(specification.date if isinstance(specification, DateComparator) else ()):
            if not is_date_format(each):
                message = "Expected a format that strptime of Python accepts, such as %d.%m.%Y"
                path = join_pointer("records", "fields", pointer, "date", position)
                yield Problem(path=path, code="invalid_format", message=message)


def _key_problems(key: Sequence[Any], fields: Mapping[str, Comparator]) -> Iterator[Problem]:
    for position, pointer in enumerate(key):
        path = join_pointer("records", "key", position)
        specification = fields.get(pointer) if isinstance(pointer, str) else None
        if specification is not None and _is_tolerant(specification):
            message = "A key is compared exactly: use exact, casefold, set or date for this field"
            yield Problem(path=path, code="tolerant_key", message=message)


def _is_tolerant(specification: Comparator) -> bool:
    if isinstance(specification, NumberComparator):
        return bool(specification.number.abs or specification.number.rel)
    return isinstance(specification, FuzzyComparator)


def _value_problems(
    fields: Mapping[str, Comparator],
    records: Sequence[Mapping[str, Any]],
    budget: TimeBudget,
    *,
    matches_by_fields: bool,
) -> Iterator[Problem]:
    """Yield a problem for each expected value that its comparator cannot compare.

    Raises `TooMuchToCompare` if the expected records alone are too costly.
    """
    for pointer, specification in fields.items():
        forms = read_field_forms(records, pointer, build_comparator(specification, budget))
        if isinstance(specification, FuzzyComparator):
            budget.spend(_estimate_similarities_ns(forms, every_pair=matches_by_fields))
        for position, form in enumerate(forms):
            if isinstance(form, Incomparable):
                message = f"No value agrees with this one: expected {_describe_kind(specification)}"
                path = f"{join_pointer('records', 'items', position)}{pointer}"
                yield Problem(path=path, code="incomparable_value", message=message)


def _estimate_similarities_ns(forms: Sequence[Form], *, every_pair: bool) -> float:
    """Return the estimated nanoseconds of comparing the expected texts with themselves."""
    texts = [each for each in forms if isinstance(each, str)]
    lengths = [len(each) for each in texts]
    cells = sum(lengths) ** 2 if every_pair else sum(length * length for length in lengths)
    comparisons = len(texts) ** 2 if every_pair else len(texts)
    return estimate_similarity_ns(cells, comparisons, is_ascii=all(each.isascii() for each in texts))


def _describe_kind(specification: Comparator) -> str:
    if isinstance(specification, NumberComparator):
        return "a number"
    if isinstance(specification, DateComparator):
        return "a text with a date in ISO 8601 or in one of the formats"
    if isinstance(specification, FuzzyComparator):
        return "a text"
    return "an array" if specification == "set" else "a value of JSON"


def _item_key_problems(keys: Sequence[Form]) -> Iterator[Problem]:
    for position, key in enumerate(keys):
        if key is None:
            message = "This item has none of the fields in key"
            yield Problem(path=join_pointer("records", "items", position), code="key_missing", message=message)
    for position, first in find_repeated_keys(keys):
        message = f"Items {first} and {position} have the same key"
        yield Problem(path=join_pointer("records", "items", position), code="duplicate_id", message=message)
