from typing import Any

import pytest

from aex_models.canonical import canonical_bytes
from aex_models.evaluation import Evaluation
from aex_models.numbers import JsonFloat
from aex_models.work import Work, WorkSubmission
from tests.libs.models.refusing import refusals

NOW = "2026-01-01T00:00:00Z"


SUBMISSION: dict[str, Any] = {"title": "Summarise", "budget": {"max_cpc": "0.25"}}


def submission(**changes: Any) -> WorkSubmission:
    return WorkSubmission.model_validate(SUBMISSION | changes)


def test_work_needs_only_a_title_and_a_price() -> None:
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


def test_money_is_plain_digits_not_below_0() -> None:
    for amount in ("-0.01", "1e3", "1_000", "0.0000001", "NaN", "", " 1", "١", True, None, JsonFloat("1e-1")):
        assert set(refusals(WorkSubmission, SUBMISSION | {"budget": {"max_cpc": amount}})) == {"budget.max_cpc"}
    budget = submission(budget={"max_cpc": JsonFloat("0.10"), "max_cpa_total": "0"}).budget
    assert budget.model_dump(mode="json")["max_cpc"] == "0.10"
    assert budget.max_cpa_total == 0


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
def test_malformed_work_is_refused_with_the_position(changes: dict[str, Any], refused: dict[str, str]) -> None:
    assert refusals(WorkSubmission, SUBMISSION | changes) == refused


def test_malformed_evaluation_data_are_refused() -> None:
    bad: dict[str, list[Any]] = {
        "reference": ["", [], ["a", ""]],
        "ground_truth": [[], [1.5], [None], [{"id": 1}]],
        "required_keywords": [[], ["  "], ["a"] * 201],
        "required_fields": [["x" * 501]],
        "pattern": [""],
        "output_schema": [True],
        "custom_metrics": [[{"name": "a b", "code": "x"}], [{"name": "a", "code": "x" * 262_145}]],
        "answers": [1],
    }
    for name, values in bad.items():
        for value in values:
            assert refusals(WorkSubmission, SUBMISSION | {"evaluation": {name: value}}), name


def test_labels_keep_their_kind() -> None:
    truth = ["1", 1, True, {"label": "1", "id": 7}, {"label": 1, "id": "7"}, {"label": False}]
    evaluation = Evaluation.model_validate({"ground_truth": truth})
    repeated = Evaluation.model_validate_json(canonical_bytes(evaluation))
    assert repeated == evaluation
    assert evaluation.ground_truth is not None
    labels = [label if isinstance(label, str | int) else label.label for label in evaluation.ground_truth]
    assert list(map(repr, labels)) == ["'1'", "1", "True", "'1'", "1", "False"]


def test_stored_work_reads_back_unchanged() -> None:
    work = Work(
        work_id="work_1",
        consumer_id="acme",
        input={"large": 1e17, "small": 1e-9, "whole": 3.0, "text": "naïve ☃"},
        status="open",
        created_at=NOW,
        **submission().model_dump(exclude={"input"}),
    )
    stored = canonical_bytes(work)
    repeated = Work.model_validate_json(stored)
    assert repeated == work
    assert canonical_bytes(repeated) == stored
