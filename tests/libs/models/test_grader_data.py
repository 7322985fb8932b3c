"""Shapes of the evaluation data of single graders."""

from typing import Any

import pytest
from pydantic import ValidationError

from aex_models.grader_data import ChoiceAnswer, ExpectedRecords, FuzzyComparator, NumericAnswer, SqlResult, SqlTable


@pytest.mark.parametrize("value", ["5", True, None, [1], float("inf"), float("nan"), 10**400, 2**53 + 1])
def test_what_is_no_number_has_one_problem(value: Any) -> None:
    with pytest.raises(ValidationError) as refused:
        NumericAnswer(value=value)
    assert [(each["loc"], each["type"]) for each in refused.value.errors()] == [(("value",), "number_type")]


def test_integers_stay_integers_and_tolerances_are_not_negative() -> None:
    answer = NumericAnswer.model_validate({"value": 5, "rel_tol": 0.5})
    assert (type(answer.value), answer.abs_tol) == (int, 0)
    for name, value in (("abs_tol", -1), ("rel_tol", -0.5)):
        with pytest.raises(ValidationError, match="greater than or equal to 0"):
            NumericAnswer.model_validate({"value": 5, name: value})


def test_one_correct_label_may_stand_without_a_list() -> None:
    assert ChoiceAnswer.model_validate({"correct": "A"}) == ChoiceAnswer(correct=["A"])
    refused: list[Any] = ["", [], {}, 5]
    for empty in refused:
        with pytest.raises(ValidationError):
            ChoiceAnswer.model_validate({"correct": empty})


def test_schemas_state_the_bounds_of_numbers() -> None:
    numeric, fuzzy = (each.model_json_schema()["properties"] for each in (NumericAnswer, FuzzyComparator))
    assert (numeric["value"]["type"], numeric["abs_tol"]["minimum"]) == ("number", 0)
    assert (fuzzy["fuzzy"]["minimum"], fuzzy["fuzzy"]["maximum"]) == (0, 1)


@pytest.mark.parametrize(
    "comparator",
    ["exact", "set", {"number": {"abs": 1, "rel": 0}}, {"date": ["%Y"]}, {"fuzzy": 0.5}, FuzzyComparator(fuzzy=1)],
)
def test_a_comparator_is_a_name_or_an_object_of_one_kind(comparator: Any) -> None:
    records = ExpectedRecords.model_validate({"items": [{}], "fields": {"/a": comparator}})
    assert ExpectedRecords.model_validate_json(records.model_dump_json()) == records


@pytest.mark.parametrize("comparator", ["equal", 5, None, {}, {"exact": True}, {"fuzzy": 1, "date": []}, ["set"]])
def test_what_is_no_comparator_has_one_problem(comparator: Any) -> None:
    with pytest.raises(ValidationError) as refused:
        ExpectedRecords.model_validate({"items": [{}], "fields": {"/a": comparator}})
    assert [each["type"] for each in refused.value.errors()] == ["invalid_comparator"]


def test_one_expected_record_may_stand_without_a_list() -> None:
    records = ExpectedRecords.model_validate({"items": {"a": 1}, "fields": {"/a": "exact"}})
    assert records.items == [{"a": 1}]
    with pytest.raises(ValidationError):
        ExpectedRecords.model_validate([{"a": 1}])


def test_columns_keep_their_order_when_stored_json_is_sorted() -> None:
    table = SqlTable.model_validate({"columns": {"b": "INTEGER", "a": "DATE"}})
    assert table.column_order == ["b", "a"]
    stored = {"columns": {"a": "DATE", "b": "INTEGER"}, "column_order": ["b", "a"]}
    assert SqlTable.model_validate(stored).column_order == ["b", "a"]
    for order in (["a"], ["a", "b", "b"], ["a", "c"]):
        with pytest.raises(ValidationError, match="each name of `columns` once"):
            SqlTable.model_validate({**stored, "column_order": order})
    with pytest.raises(ValidationError):
        SqlTable.model_validate({"columns": ["a"]})


def test_an_expected_result_is_a_query_or_rows() -> None:
    assert SqlResult(query="SELECT 1").rows is None
    assert SqlResult(rows=[[1]]).query is None
    for fields in ({}, {"query": "SELECT 1", "rows": [[1]]}):
        with pytest.raises(ValidationError, match="either a query, or columns and rows"):
            SqlResult.model_validate(fields)
