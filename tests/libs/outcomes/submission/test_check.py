import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_models.evaluation import EVALUATION_KEYS, KEYS_ALLOWED_IN_INPUT
from aex_models.numbers import JsonFloat
from aex_outcomes import Catalog
from aex_outcomes.config import parse_config
from aex_outcomes.submission import check_criteria, check_submission

CATALOG = Catalog.of()
GOOD: dict[str, Any] = {
    "title": "Summaries",
    "input": {"question": "?"},
    "evaluation": {"reference": "the cat sat", "ground_truth": ["a", {"label": "b"}]},
    "budget": {"max_cpc": "1.00", "max_cpa_total": "2"},
    "success_criteria": {
        "criteria": [
            {"metric": "rougeL", "metric_type": "rouge_score", "comparison": "gte", "threshold": 0.4, "bonus": "1"},
            {"metric": "accuracy", "metric_type": "accuracy", "comparison": "gte", "threshold": 0.9, "penalty": "1"},
        ]
    },
}


def changed(**paths: Any) -> dict[str, Any]:
    """Return the good body with values set at paths such as `budget__max_cpc`.

    `criteria__0__threshold` is an abbreviation.
    """
    body = copy.deepcopy(GOOD)
    for path, value in paths.items():
        steps: list[Any] = [int(step) if step.isdigit() else step for step in path.split("__")]
        if steps[0] == "criteria":
            steps = ["success_criteria", *steps]
        pointer: Any = body
        for step in steps[:-1]:
            pointer = pointer.setdefault(step, {}) if isinstance(pointer, dict) else pointer[step]
        if isinstance(pointer, list) and steps[-1] >= len(pointer):
            pointer.append(value)
        else:
            pointer[steps[-1]] = value
    return body


def found(body: Any, **more: Any) -> set[tuple[str, str]]:
    return {(each.path, each.code) for each in check_submission(body, CATALOG, **more).problems}


def messages(body: Any) -> list[str]:
    return [each.message for each in check_submission(body, CATALOG).problems]


def custom(metric: str, metric_type: str = "custom", **fields: Any) -> dict[str, Any]:
    return {"metric": metric, "metric_type": metric_type, "comparison": "gte", "threshold": 1} | fields


def criterion(**fields: Any) -> dict[str, Any]:
    return {"metric": "output_length", "metric_type": "count", "comparison": "gte", "threshold": 1} | fields


def test_a_good_submission_is_returned_with_warnings_and_quote() -> None:
    checked = check_submission(changed(budget__max_cpa_total="0.5"), CATALOG)
    assert checked.problems == ()
    assert checked.submission is not None
    assert checked.submission.title == "Summaries"
    assert [each.code for each in checked.warnings] == ["bonus_unreachable"]
    assert checked.quote is not None
    assert float(checked.quote.maximum.total) == 1.5


def test_a_work_without_criteria_is_fine() -> None:
    body = changed()
    del body["success_criteria"], body["evaluation"]
    checked = check_submission(body, CATALOG)
    assert (checked.problems, checked.warnings) == ((), ())
    assert checked.quote is not None


def test_an_unknown_metric_is_named_exactly() -> None:
    assert messages(changed(criteria__0__metric="nope")) == ["Unknown metric: nope"]
    assert found(changed(criteria__0__metric="nope")) == {("/success_criteria/criteria/0/metric", "unknown_metric")}


@pytest.mark.parametrize("threshold", ["0.4", 92, True, None, [0.4], {"min": 0.4}, float("nan"), float("inf"), -1])
def test_a_threshold_of_the_wrong_kind_names_the_metric(threshold: Any) -> None:
    body = changed(criteria__1__threshold=threshold)
    assert found(body) == {("/success_criteria/criteria/1/threshold", "invalid_threshold")}
    assert "Invalid threshold for metric: accuracy" in messages(body)[0]


PATTERN = criterion(metric="matches_pattern", metric_type="boolean", comparison="eq", threshold=True)
PLAUSIBLE = criterion(metric="values_plausible", metric_type="boolean", comparison="eq", threshold=True)
MISFIT = criterion(metric="rougeL", metric_type="count")
SCHEMA = criterion(metric="matches_schema", metric_type="matches_schema", comparison="eq")
OUTSIDE = SCHEMA | {"threshold": {"$ref": "https://example.org/hush"}}
NO_TYPE = SCHEMA | {"threshold": {"properties": {"a": {"type": "hush"}}}}
CODE = {"name": "x", "code": "hush"}


@pytest.mark.parametrize(
    ("change", "path", "code"),
    [
        ({"criteria": [MISFIT]}, "/success_criteria/criteria/0/metric_type", "invalid_metric_type"),
        ({"criteria__0__colour": "red"}, "/success_criteria/criteria/0/colour", "extra_forbidden"),
        ({"criteria__0__bonus": "-1"}, "/success_criteria/criteria/0/bonus", "greater_than_equal"),
        ({"criteria__0__bonus": "1e3"}, "/success_criteria/criteria/0/bonus", "invalid_money"),
        ({"criteria__0__weight": 0}, "/success_criteria/criteria/0/weight", "greater_than"),
        ({"criteria__0__required": 1}, "/success_criteria/criteria/0/required", "bool_type"),
        ({"success_criteria__aggregation": "most"}, "/success_criteria/aggregation", "enum"),
        ({"success_criteria__colour": 1}, "/success_criteria/colour", "extra_forbidden"),
        ({"criteria": []}, "/success_criteria/criteria", "too_short"),
        ({"criteria__2": GOOD["success_criteria"]["criteria"][0]}, "/success_criteria/criteria", "duplicate_criterion"),
        ({"success_criteria": []}, "/success_criteria", "model_type"),
        ({"criteria__2": 5}, "/success_criteria/criteria/2", "model_type"),
        ({"criteria": [criterion(threshold=n) for n in range(11)]}, "/success_criteria/criteria", "too_many_criteria"),
        ({"evaluation": None, "criteria": [PATTERN]}, "/evaluation/pattern", "evaluation_missing"),
        ({"evaluation__reference": None}, "/evaluation/reference", "evaluation_missing"),
        ({"evaluation__pattern": "(?=hush)"}, "/evaluation/pattern", "invalid_pattern"),
        ({"evaluation__output_schema": {"type": "hush"}}, "/evaluation/output_schema/type", "invalid_schema"),
        ({"evaluation__output_schema": {"$ref": "file:///hush"}}, "/evaluation/output_schema", "unresolvable_ref"),
        ({"evaluation__ground_truth": [{"label": "hush", "id": 1}] * 2}, "/evaluation/ground_truth", "duplicate_id"),
        ({"evaluation__custom_metrics": [CODE]}, "/evaluation/custom_metrics/0/code", "no_evaluate_function"),
        ({"criteria__0": custom("custom.x")}, "/evaluation/custom_metrics", "evaluation_missing"),
        ({"criteria__0__metric": "custom."}, "/success_criteria/criteria/0/metric", "unknown_metric"),
        ({"criteria": [PLAUSIBLE]}, "/science", "science_missing"),
        ({"criteria": [criterion(metric="stat.n")]}, "/science", "science_missing"),
        ({"criteria": [OUTSIDE]}, "/success_criteria/criteria/0/threshold", "unresolvable_ref"),
        ({"criteria": [NO_TYPE]}, "/success_criteria/criteria/0/threshold/properties/a/type", "invalid_schema"),
        ({"science": {"checks": ["hush"]}}, "/science/checks/0", "unknown_check"),
        ({"input__expected_outcome": "hush"}, "/input/expected_outcome", "evaluation_in_input"),
        ({"verification__verifier": "v"}, "/verification/verifier", "unknown_verifier"),
        ({"allow_claims": True}, "/allow_claims", "claims_require_on_success"),
    ],
)  # fmt: skip
def test_problems_of_sense(change: dict[str, Any], path: str, code: str) -> None:
    checked = check_submission(changed(**change), CATALOG)
    assert {(each.path, each.code) for each in checked.problems} == {(path, code)}
    assert not checked.only_shape
    assert (checked.submission, checked.quote, checked.warnings) == (None, None, ())
    assert "hush" not in str(checked)


@pytest.mark.parametrize(
    ("change", "path", "code"),
    [
        ({"title": ""}, "/title", "string_too_short"),
        ({"colour": 1}, "/colour", "extra_forbidden"),
        ({"budget__max_cpc": "hush"}, "/budget/max_cpc", "invalid_money"),
        ({"budget": {}}, "/budget/max_cpc", "missing"),
        ({"budget__currency": "usd"}, "/budget/currency", "string_pattern_mismatch"),
        ({"verification__max_attempts": 0}, "/verification/max_attempts", "greater_than_equal"),
        ({"input": "hush"}, "/input", "dict_type"),
        ({"evaluation__reference": 5}, "/evaluation/reference", "string_type"),
        ({"evaluation__reference": ["a", 5]}, "/evaluation/reference/1", "string_type"),
        ({"evaluation__ground_truth": ["a", {"lable": "hush"}]}, "/evaluation/ground_truth/1/label", "missing"),
        ({"evaluation__required_keywords": [" "]}, "/evaluation/required_keywords", "blank_term"),
        ({"evaluation__hush_": 1}, "/evaluation/hush_", "extra_forbidden"),
    ],
)
def test_problems_of_shape(change: dict[str, Any], path: str, code: str) -> None:
    checked = check_submission(changed(**change), CATALOG)
    assert (path, code) in {(each.path, each.code) for each in checked.problems}
    assert {each.path.startswith(path.rpartition("/")[0]) for each in checked.problems} == {True}
    assert checked.only_shape
    assert "hush" not in str([each.message for each in checked.problems])


@pytest.mark.parametrize("body", [None, [], {}])
def test_what_is_no_work_is_a_problem_of_shape(body: Any) -> None:
    checked = check_submission(body, CATALOG)
    assert checked.problems
    assert checked.only_shape


def test_evaluation_data_are_missed_also_for_a_criterion_that_is_malformed() -> None:
    body = changed(criteria__1__threshold=92, evaluation__ground_truth=None)
    assert ("/evaluation/ground_truth", "evaluation_missing") in found(body)


def test_equal_criteria_are_reported_beside_a_malformed_one() -> None:
    assert found(changed(criteria=[criterion(), criterion(), "?"])) == {
        ("/success_criteria/criteria", "duplicate_criterion"),
        ("/success_criteria/criteria/2", "model_type"),
    }


@pytest.mark.parametrize("key", sorted(KEYS_ALLOWED_IN_INPUT))
def test_a_common_word_may_stand_in_the_input_unless_the_evaluation_data_have_it(key: str) -> None:
    problem = (f"/input/{key}", "evaluation_in_input")
    assert problem not in found(changed(**{f"input__{key}": "x"}))
    assert problem in found(changed(**{f"input__{key}": "x", f"evaluation__{key}": {}}))


@pytest.mark.parametrize("key", sorted(EVALUATION_KEYS - KEYS_ALLOWED_IN_INPUT))
def test_no_other_key_of_evaluation_data_may_stand_in_the_input(key: str) -> None:
    assert (f"/input/{key}", "evaluation_in_input") in found(changed(**{f"input__{key}": "x"}))


def test_terms_in_a_threshold_are_for_metrics_that_take_terms() -> None:
    sample = {"class": "tests.libs.outcomes.extractors.samples:Sample", "config": {"types": ["contains"]}}
    catalog = Catalog.of(parse_config({"extractors": {"mine": sample}}))
    expected = criterion(metric="shouting", metric_type="contains", comparison="contains_all", threshold=["a"])
    [problem] = check_submission(changed(criteria=[expected]), catalog).problems
    assert (problem.code, problem.message[:37]) == ("invalid_threshold", "Invalid threshold for metric: shoutin")


def test_criteria_that_bring_their_own_terms_need_no_evaluation_data() -> None:
    expected = criterion(metric="contains_keywords", metric_type="contains", comparison="contains_any", threshold=["a"])
    assert found(changed(criteria=[expected], evaluation=None)) == set()
    expected |= {"comparison": "gte", "threshold": 0.5}
    assert found(changed(criteria=[expected])) == {("/evaluation/required_keywords", "evaluation_missing")}


def test_claims_need_payment_on_success_and_verifiers_a_registration() -> None:
    body = changed(allow_claims=True, budget__base_policy="on_success", verification__verifier="house-style")
    assert found(body, verifiers={"house-style"}) == set()


def test_unknown_verifier_is_reported_with_known_ones() -> None:
    body = changed(verification__verifier="hose-style")
    [problem] = check_submission(body, CATALOG, verifiers=["tone", "house-style"]).problems
    assert problem.message == "Unknown verifier; registered here: house-style, tone"
    [problem] = check_submission(body, CATALOG).problems
    assert problem.message.endswith("none")


def test_linter_considers_verifier_for_any_number_of_criteria() -> None:
    many = [criterion(threshold=number, required=False) for number in range(11)]
    body = changed(success_criteria={"criteria": many}, verification__verifier="tone")
    catalog = Catalog.of(parse_config({"verification": {"max_criteria_per_task": 20}}))
    checked = check_submission(body, catalog, verifiers=["tone"])
    assert checked.submission is not None
    assert "nothing_required" not in [each.code for each in checked.warnings]


def test_numbers_that_keep_their_text_are_money_to_the_last_digit() -> None:
    checked = check_submission(changed(budget__max_cpc=JsonFloat("0.100000")), CATALOG)
    assert checked.submission is not None
    assert str(checked.submission.budget.max_cpc.normalize()) == "0.1"
    assert found(changed(budget__max_cpc=JsonFloat("0.1000001"))) == {("/budget/max_cpc", "invalid_money")}


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


POINTERS = [
    *GOOD, "verification", "science", "allow_claims",
    *(f"criteria__0__{name}" for name in GOOD["success_criteria"]["criteria"][0]),
    *(f"evaluation__{name}" for name in sorted(EVALUATION_KEYS)),
]  # fmt: skip


@given(st.sampled_from(POINTERS), ANYTHING)
def test_whatever_stands_in_a_field_is_answered_and_never_quoted(path: str, value: Any) -> None:
    for given_value in (value, ["hush-hush", value]):
        checked = check_submission(changed(**{path: given_value}), CATALOG)
        assert (checked.submission is None) is bool(checked.problems)
        messages = json.dumps([each.model_dump(mode="json")["message"] for each in checked.problems])
        assert "hush-hush" not in messages


def test_the_criteria_of_a_trial_verification_are_checked_in_the_same_way() -> None:
    body = changed(criteria__0__metric="nope", evaluation__ground_truth=5, input__pattern="x")
    findings = check_criteria(body | {"output": {}, "title": None}, CATALOG)
    assert {(each.path, each.code) for each in findings.semantic} == {
        ("/success_criteria/criteria/0/metric", "unknown_metric"),
        ("/input/pattern", "evaluation_in_input"),
    }
    assert {(each.path, each.code) for each in findings.shape} == {("/evaluation/ground_truth", "list_type")}
    assert check_criteria({}, CATALOG).problems == ()


@pytest.mark.parametrize(
    ("change", "path", "words"),
    [
        ({"criteria__0__metric": "rougel"}, "/success_criteria/criteria/0/metric", "did you mean rougeL?"),
        (
            {"criteria__0__comparison": "contain_any"},
            "/success_criteria/criteria/0/comparison",
            "did you mean contains_any?",
        ),
        ({"criteria__0__treshold": 1}, "/success_criteria/criteria/0/treshold", "did you mean threshold?"),
        ({"science": {"checks": ["value_range"]}}, "/science/checks/0", "did you mean value_ranges?"),
    ],
)
def test_misspelt_name_gets_a_suggestion(change: dict[str, Any], path: str, words: str) -> None:
    messages = {each.path: each.message for each in check_submission(changed(**change), CATALOG).problems}
    assert words in messages[path]
