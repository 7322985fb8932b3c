from typing import Any

import pytest
from pydantic import ValidationError

from aex_models.canonical import canonical_bytes
from aex_models.numbers import JsonFloat
from aex_models.work import EVALUATION_KEYS, Evaluation, Work, WorkSubmission

NOW = "2026-01-01T00:00:00Z"


def submission(**changes: Any) -> WorkSubmission:
    return WorkSubmission.model_validate({"title": "Summarise", "budget": {"max_cpc": "0.25"}} | changes)


def refusals(**changes: Any) -> dict[str, str]:
    with pytest.raises(ValidationError) as refused:
        submission(**changes)
    return {".".join(map(str, each["loc"])): each["type"] for each in refused.value.errors()}


def test_a_work_needs_only_a_title_and_a_price() -> None:
    plain = submission()
    assert (plain.domain, plain.input, plain.evaluation, plain.success_criteria) == ("general", {}, None, None)
    assert plain.verification.model_dump(mode="json") == {
        "max_attempts": 3,
        "feedback": "criteria",
        "verifier": None,
        "deadline_s": 604_800,
    }
    assert plain.budget.model_dump(mode="json") == {
        "max_cpc": "0.25",
        "max_cpa_total": None,
        "max_penalty_total": None,
        "base_policy": "judged",
        "currency": "USD",
    }


def test_a_cap_of_0_is_not_an_absent_cap() -> None:
    budget = submission(budget={"max_cpc": "1", "max_cpa_total": "0"}).budget
    assert budget.max_cpa_total == 0
    assert budget.max_penalty_total is None


@pytest.mark.parametrize("amount", ["-0.01", "1e3", "1_000", "0.0000001", "NaN", "Infinity", "", " 1", "١", True, None])
def test_money_is_plain_digits_not_below_0(amount: Any) -> None:
    assert set(refusals(budget={"max_cpc": amount})) == {"budget.max_cpc"}


def test_a_json_number_is_read_through_its_own_text() -> None:
    assert submission(budget={"max_cpc": JsonFloat("0.10")}).model_dump(mode="json")["budget"]["max_cpc"] == "0.10"
    assert refusals(budget={"max_cpc": JsonFloat("1e-1")}) == {"budget.max_cpc": "invalid_money"}
    assert refusals(budget={"max_cpc": JsonFloat("0.1000001")}) == {"budget.max_cpc": "invalid_money"}


@pytest.mark.parametrize(
    ("changes", "refused"),
    [
        ({"title": ""}, {"title": "string_too_short"}),
        ({"title": "x" * 301}, {"title": "string_too_long"}),
        ({"domain": "a b"}, {"domain": "string_pattern_mismatch"}),
        ({"domain": "a\n"}, {"domain": "string_pattern_mismatch"}),
        ({"input": []}, {"input": "dict_type"}),
        ({"allow_claims": 1}, {"allow_claims": "bool_type"}),
        ({"status": "open"}, {"status": "extra_forbidden"}),
        ({"budget": {"max_cpc": "1", "currency": "usd"}}, {"budget.currency": "string_pattern_mismatch"}),
        ({"budget": {"max_cpc": "1", "currency": "QQQ"}}, {"budget.currency": "unknown_currency"}),
        ({"budget": {"max_cpc": "1", "currency": "XXX"}}, {"budget.currency": "unknown_currency"}),
        ({"budget": {}}, {"budget.max_cpc": "missing"}),
        ({"verification": {"max_attempts": 0}}, {"verification.max_attempts": "greater_than_equal"}),
        ({"verification": {"max_attempts": "3"}}, {"verification.max_attempts": "int_type"}),
        ({"verification": {"max_attempts": True}}, {"verification.max_attempts": "int_type"}),
        ({"verification": {"feedback": "all"}}, {"verification.feedback": "enum"}),
        ({"verification": {"deadline_s": 31_536_001}}, {"verification.deadline_s": "less_than_equal"}),
    ],
)
def test_malformed_work_is_refused_with_the_place(changes: dict[str, Any], refused: dict[str, str]) -> None:
    assert refusals(**changes) == refused


@pytest.mark.parametrize(
    "evaluation",
    [
        {"reference": ""},
        {"reference": []},
        {"reference": ["a", ""]},
        {"ground_truth": []},
        {"ground_truth": [1.5]},
        {"ground_truth": [None]},
        {"ground_truth": [{"id": 1}]},
        {"required_keywords": []},
        {"required_keywords": ["  "]},
        {"required_keywords": ["a"] * 201},
        {"required_fields": ["x" * 501]},
        {"pattern": ""},
        {"output_schema": True},
        {"custom_metrics": [{"name": "a b", "code": "x"}]},
        {"custom_metrics": [{"name": "a", "code": "x" * 262_145}]},
        {"answers": 1},
    ],
)
def test_malformed_evaluation_data_are_refused(evaluation: dict[str, Any]) -> None:
    assert refusals(evaluation=evaluation)


def test_labels_keep_their_kind() -> None:
    truth = ["1", 1, True, {"label": "1", "id": 7}, {"label": 1, "id": "7"}, {"label": False}]
    evaluation = Evaluation.model_validate({"ground_truth": truth})
    again = Evaluation.model_validate_json(canonical_bytes(evaluation))
    assert again == evaluation
    assert evaluation.ground_truth is not None
    labels = [label if isinstance(label, str | int) else label.label for label in evaluation.ground_truth]
    assert [(type(label), label) for label in labels] == [
        (str, "1"),
        (int, 1),
        (bool, True),
        (str, "1"),
        (int, 1),
        (bool, False),
    ]


def test_the_keys_of_evaluation_data_are_the_fields_of_their_model() -> None:
    assert {
        "reference",
        "ground_truth",
        "required_keywords",
        "pattern",
        "output_schema",
        "required_fields",
        "custom_metrics",
    } == EVALUATION_KEYS


def test_a_stored_work_reads_back_as_it_was() -> None:
    work = Work(
        work_id="work_1",
        consumer_id="acme",
        input={"large": 1e17, "small": 1e-9, "whole": 3.0, "text": "naïve ☃"},
        status="open",
        created_at=NOW,
        **submission().model_dump(exclude={"input"}),
    )
    stored = canonical_bytes(work)
    again = Work.model_validate_json(stored)
    assert again == work
    assert canonical_bytes(again) == stored
