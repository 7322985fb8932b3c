"""Shapes of the evaluation data of single graders."""

from typing import Any

import pytest
from pydantic import ValidationError

from aex_models.grader_data import ChoiceAnswer, FuzzyComparator, NumericAnswer


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
