"""Problems of expected records, each with pointer and code."""

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_outcomes import Catalog, RecordsExtractor
from aex_outcomes.submission import check_submission
from tests.fuzz.values import JSON

VALID = {"items": [{"id": 1, "a": "x"}, {"id": 2}], "fields": {"/id": "exact", "/a": "exact"}, "key": ["/id"]}

FUZZY = {"/id": "exact", "/a": {"fuzzy": 0.5}}
FIELDS = st.just({"/a": "exact", "/b": {"date": ["%d"]}, "": {"fuzzy": 0.5}})


def problems(**changes: Any) -> list[tuple[str, str]]:
    found = RecordsExtractor().check_evaluation({"records": {**VALID, **changes}})
    return [(each.path, each.code) for each in found]


def test_valid_records_have_no_problem() -> None:
    assert problems() == []
    assert problems(items={"id": 1}) == []
    assert problems(key=None, items=[{"a": 1}, {"a": 1}]) == []
    assert [*RecordsExtractor().check_evaluation({})] == []


@pytest.mark.parametrize(
    ("changes", "path", "code"),
    [
        ({"fields": {"/id": "exact", "/a/b": {"date": ["%"]}}}, "/records/fields/~1a~1b/date/0", "invalid_format"),
        ({"key": ["/b"], "items": [{"b": 1}, {"id": 2}]}, "/records/items/1", "key_missing"),
        ({"key": ["/b"], "items": [{"b": 1}, {"b": 1.0}]}, "/records/items/1", "duplicate_id"),
        ({"fields": {"/a": {"fuzzy": 0.9}}, "key": ["/a"]}, "/records/key/0", "tolerant_key"),
        ({"fields": {"/id": {"number": {"rel": 0.1}}}}, "/records/key/0", "tolerant_key"),
        ({"items": [{"id": 1}, {"id": 2}, {"id": 1.0}]}, "/records/items/2", "duplicate_id"),
        ({"items": [{"id": 1}, {"a": 1}]}, "/records/items/1", "key_missing"),
        ({"items": [{"a": 1}] * 301, "key": None}, "/records/items", "too_many_records"),
        ({"items": [{"id": 1, "a": 5}], "fields": FUZZY}, "/records/items/0/a", "incomparable_value"),
        ({"fields": {"/id": "exact", "/a": {"number": {}}}}, "/records/items/0/a", "incomparable_value"),
        ({"fields": {"/id": "exact", "/a": "set"}}, "/records/items/0/a", "incomparable_value"),
        ({"fields": {"/id": "exact", "/a": {"date": []}}}, "/records/items/0/a", "incomparable_value"),
        ({"items": [{"id": 1, "a": "x" * 300_000}], "fields": FUZZY}, "/records", "records_too_costly"),
    ],
)  # fmt: skip
def test_each_problem_has_its_pointer_and_code(changes: Any, path: str, code: str) -> None:
    assert problems(**changes) == [(path, code)]


def test_a_key_need_not_be_a_compared_field() -> None:
    assert problems(key=["/id", "/none"]) == []
    assert problems(fields={"/a": "exact"}) == []


@pytest.mark.parametrize("key", [[5], ["id"], [["/id"]], ["/id", None], ["/id"] * 21])
def test_malformed_keys_are_left_to_the_model(key: Any) -> None:
    assert problems(key=key) == []


def test_a_number_without_tolerance_can_be_a_key() -> None:
    assert problems(fields={"/id": {"number": {}}}) == []


def test_at_most_20_problems_of_a_kind_are_listed() -> None:
    assert len(problems(items=[{"id": 1, "a": "x"}] * 100)) == 20


def test_all_problems_of_a_work_come_at_once_without_quotations() -> None:
    records = {
        "items": [{"id": 1, "day": "hush"}, {"id": 1.0}, 5],
        "fields": {
            "/id": "exact", "/day": {"date": ["%q"]}, "/x": "fuzy", "/y": {"fuzzy": 2}, "/z": {"number": {"abs": -1}},
            "name": "exact",
        },
        "key": ["/id", "/x"],
    }  # fmt: skip
    evaluation = {
        "records": records,
        "ranking": {"relevance": {"a": 0}, "k": 0},
        "named": {"lines": {"records": {"items": [], "fields": {}}}},
    }
    body = {"title": "t", "budget": {"max_cpc": "1"}, "evaluation": evaluation}
    checked = check_submission(body, Catalog.of())
    assert not checked.only_shape
    assert [(each.path.removeprefix("/evaluation"), each.code) for each in checked.problems] == [
        ("/named/lines/records/fields", "too_short"),
        ("/named/lines/records/items", "too_short"),
        ("/ranking/k", "greater_than_equal"),
        ("/ranking/relevance", "nothing_relevant"),
        ("/records/fields/name", "invalid_pointer"),
        ("/records/fields/~1day/date/0", "invalid_format"),
        ("/records/fields/~1x", "invalid_comparator"),
        ("/records/fields/~1y/fuzzy", "less_than_equal"),
        ("/records/fields/~1z/number/abs", "greater_than_equal"),
        ("/records/items/0/day", "incomparable_value"),
        ("/records/items/2", "dict_type"),
    ]
    assert "hush" not in repr(checked.problems)


@pytest.mark.parametrize("raw", [None, 5, [], "x", {}, {"items": 5, "fields": []}, {"fields": {"/a": []}, "key": 3}])
def test_malformed_data_are_left_to_the_model(raw: Any) -> None:
    assert [*RecordsExtractor().check_evaluation({"records": raw})] == []


@given(st.fixed_dictionaries({}, optional={"items": JSON, "fields": JSON | FIELDS, "key": JSON | st.just(["/a"])}))
def test_any_json_is_checked_without_an_error(raw: Any) -> None:
    for each in RecordsExtractor().check_evaluation({"records": raw}):
        assert each.path.startswith("/records")


def test_the_largest_valid_data_are_checked_in_seconds() -> None:
    names = [f"f{each}" for each in range(199)]
    items = [{"id": each, **dict.fromkeys(names, f"value {each}")} for each in range(5_000)]
    started = time.process_time()
    assert problems(items=items, fields={"/id": "exact", **{f"/{name}": {"fuzzy": 0.9} for name in names}}) == []
    assert time.process_time() - started < 10
