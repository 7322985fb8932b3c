"""Scores of extracted records."""

import time
from typing import Any

import pytest

from aex_models.examination import Fault
from aex_outcomes import AgentFault, RecordsExtractor
from aex_outcomes.extractors.protocol import Detailed
from tests.libs.outcomes.engine.builders import criteria, criterion, verify

NAMES = ["field_precision", "field_recall", "field_f1", "field_accuracy", "record_f1"]
INVOICES = {
    "items": [{"number": "A-1", "total": 10.5, "paid": None}, {"number": "A-2", "total": 7, "paid": "2024-01-31"}],
    "fields": {"/number": "casefold", "/total": {"number": {"abs": 0.01}}, "/paid": {"date": ["%d.%m.%Y"]}},
}
KEYED = {**INVOICES, "key": ["/number"]}
RIGHT = [{"number": "a-2", "total": 7.005, "paid": "31.01.2024", "note": "ignored"}, {"number": "a-1", "total": 10.5}]


async def extract(records: Any, output: Any, **settings: Any) -> dict[str, Any]:
    return dict(await RecordsExtractor(**settings).extract({"records": records}, output, {}))


async def values(records: Any, delivered: Any) -> list[float]:
    found = await extract(records, {"records": delivered})
    return [found[name].value for name in NAMES]


@pytest.mark.parametrize("records", [INVOICES, KEYED])
async def test_records_in_any_order_are_right(records: Any) -> None:
    assert await values(records, RIGHT) == [1] * 5


async def test_of_two_items_one_delivered_rightly_has_precision_1_and_recall_one_half() -> None:
    records = {"items": [{"a": 1}, {"a": 2}], "fields": {"/a": "exact"}}
    assert await values(records, [{"a": 2}]) == pytest.approx([1, 0.5, 2 / 3, 0.5, 2 / 3])


async def test_one_object_is_a_list_of_one_on_both_sides() -> None:
    assert await values({"items": {"a": {"b": 1}}, "fields": {"/a/b": "exact"}}, {"a": {"b": 1}}) == [1] * 5


@pytest.mark.parametrize("delivered", [[], [{}], [{"number": None}]])
async def test_nothing_delivered_scores_0_and_null_is_absent(delivered: Any) -> None:
    assert await values(INVOICES, delivered) == [0] * 5


async def test_details_count_each_field() -> None:
    delivered = [{"number": "A-1", "total": "10.5", "paid": "2024-02-01"}, {"number": "A-3", "total": 7}]
    found = await extract(KEYED, {"records": delivered})
    assert found["field_f1"].details == found["record_f1"].details == {
        "/number": {"correct": 1, "wrong": 0, "missing": 1, "spurious": 1},
        "/total": {"correct": 0, "wrong": 1, "missing": 1, "spurious": 1},
        "/paid": {"correct": 0, "wrong": 0, "missing": 1, "spurious": 1},
    }  # fmt: skip


async def test_without_a_key_wrong_records_correspond_in_their_order() -> None:
    found = await extract({"items": [{"a": 1}], "fields": {"/a": "exact"}}, {"records": [{"a": 2}, {"a": 3}]})
    assert found["field_f1"].details == {"/a": {"correct": 0, "wrong": 1, "missing": 0, "spurious": 1}}


async def test_a_key_that_is_no_field_matches_records_exactly_and_is_not_counted() -> None:
    records = {"items": [{"id": 1, "x": 1}, {"id": 2, "x": 2}], "fields": {"/x": "exact"}, "key": ["/id"]}
    found = await extract(records, {"records": [{"id": 2, "x": 2}, {"id": 1.0, "x": 5}]})
    assert found["field_f1"].details == {"/x": {"correct": 1, "wrong": 1, "missing": 0, "spurious": 0}}


async def test_several_fields_make_a_key_and_a_record_without_any_corresponds_to_none() -> None:
    records = {
        "items": [{"first": "A", "last": "B", "x": 1}, {"first": "A", "x": 2}],
        "fields": {"/first": "exact", "/last": "exact", "/x": "exact"},
        "key": ["/first", "/last"],
    }
    delivered = [{"x": 2}, {"x": 2}, {"first": "A", "last": None, "x": 2}]
    found = await extract(records, {"records": delivered})
    assert found["record_f1"].value == 0.4
    assert found["record_f1"].details["/x"] == {"correct": 1, "wrong": 0, "missing": 1, "spurious": 2}


@pytest.mark.parametrize("output", [{}, {"records": None}, [], "text", None])
async def test_without_records_there_is_no_score(output: Any) -> None:
    assert await extract(INVOICES, output) == {}


async def test_without_expected_records_there_is_no_score() -> None:
    assert await RecordsExtractor().extract({}, {"records": RIGHT}, {}) == {}


@pytest.mark.parametrize(
    ("records", "delivered", "code"),
    [
        (INVOICES, "A-1", "invalid_records"),
        (INVOICES, 5, "invalid_records"),
        (INVOICES, [{"number": "A-1"}, "A-2"], "invalid_records"),
        (INVOICES, [{}] * 301, "too_many_records"),
        (KEYED, [{}] * 5_001, "too_many_records"),
        (KEYED, [{"number": "A-1"}, {"number": "a-1"}], "duplicate_id"),
    ],
)
async def test_records_that_cannot_be_compared_are_the_agents_fault(records: Any, delivered: Any, code: str) -> None:
    with pytest.raises(AgentFault) as raised:
        await extract(records, {"records": delivered})
    assert raised.value.code == code
    assert "number" not in raised.value.message
    assert "A-" not in raised.value.message


async def test_records_lie_where_data_or_configuration_say() -> None:
    single = {"items": [{"a": 1}], "fields": {"/a": "exact"}}
    assert (await extract(single, {"rows": {"a": 1}}, records_pointer="/rows"))["field_f1"].value == 1
    assert (await extract({**single, "at": ""}, {"a": 1}))["field_f1"].value == 1
    assert (await extract({**single, "at": "/x"}, {"records": {"a": 1}})) == {}


async def test_named_records_are_read_at_the_location_of_the_name_before_their_own() -> None:
    def data(value: int, **more: Any) -> dict[str, Any]:
        return {"records": {"items": [{"a": value}], "fields": {"/a": "exact"}, **more.pop("own", {})}, **more}

    evaluation = {
        **data(1),
        "named": {"own": data(2, own={"at": "/own"}), "both": data(3, own={"at": "/own"}, at="/both"), "none": data(1)},
    }
    listed = [criterion(f"field_f1{name}", "gte", 1) for name in ("", ".own", ".both", ".none")]
    output = {"records": [{"a": 1}], "own": {"a": 2}, "both": {"a": 3}}
    found = await verify(criteria(*listed), output, evaluation=evaluation)
    assert [each.value for each in found.criterion_results] == [1, 1, 1, 1]
    assert found.details is not None
    assert found.details["field_f1.both"] == {"/a": {"correct": 1, "wrong": 0, "missing": 0, "spurious": 0}}


async def test_a_fault_of_the_agent_leaves_its_criteria_unmet_and_other_metrics_alone() -> None:
    listed = [criterion("field_f1", "gte", 0, penalty="1"), criterion("word_count", "gte", 1)]
    output = {"text": "one", "records": [1]}
    found = await verify(criteria(*listed), output, evaluation={"records": INVOICES})
    score, words = found.criterion_results
    assert score.error is not None
    assert (score.error.code, score.error.fault, score.met) == ("invalid_records", Fault.AGENT, False)
    assert words.met


HOSTILE = {
    "exact": [[0] * 400],
    "casefold": "\ufdfa" * 300,
    "set": [*range(300)],
    "date": "1.1.1",
    "fuzzy": "é" * 1_000,
}
"""Values of which 5,000 records × 200 fields would take minutes."""


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "keyed"), [*zip(HOSTILE, [True, False] * 3, strict=False)])
async def test_hostile_outputs_take_bounded_time(kind: str, keyed: bool) -> None:
    comparators: dict[str, Any] = {"date": {"date": ["%d.%m.%Y", "%d/%m/%Y"] * 10}, "fuzzy": {"fuzzy": 0.5}}
    expected, names = {"fuzzy": "x" * 500, "date": "2024-01-31"}.get(kind, "a"), [f"f{each}" for each in range(199)]
    records = {
        "items": [{"id": each, **dict.fromkeys(names, expected)} for each in range(10)],
        "fields": {"/id": "exact", **{f"/{name}": comparators.get(kind, kind) for name in names}},
        "key": ["/id"] if keyed else None,
    }
    hostile = HOSTILE[kind]
    delivered = [
        {"id": each, **{name: f"{hostile}{each}.{name}" if kind == "date" else hostile for name in names}}
        for each in range(5_000 if keyed else 300)
    ]
    started = time.process_time()
    try:
        found: Any = await extract(records, {"records": delivered})
    except AgentFault as fault:
        found = fault
    assert time.process_time() - started < 20
    assert isinstance(found, AgentFault) or isinstance(found["field_f1"], Detailed)


async def test_deep_nesting_is_compared_without_an_error() -> None:
    deep: Any = 1
    for _ in range(60):
        deep = {"a": [deep]}
    records = {"items": [{"x": deep}], "fields": {"/x": "exact", "/x/a/0/a": "exact"}}
    assert await values(records, [{"x": deep}]) == [1] * 5
    beyond = deep
    for _ in range(3_000):
        beyond = [beyond]
    found = await extract(records, {"records": [{"x": beyond}]})
    assert found["field_f1"].details["/x"]["wrong"] == 1
