import copy
from typing import Any

import pytest

from aex_outcomes import Catalog
from aex_outcomes.config import parse_config
from aex_outcomes.submission import check_submission

CATALOG = Catalog.of()
HONEST = "def evaluate(input, output, metadata):\n    return len(output['text'])"
AT = "/evaluation/custom_metrics"
BODY: dict[str, Any] = {
    "title": "Counted",
    "evaluation": {"custom_metrics": [{"name": "score", "code": HONEST}, {"name": "parts", "code": HONEST}]},
    "budget": {"max_cpc": "1.00", "max_cpa_total": "2"},
    "success_criteria": {
        "criteria": [
            {"metric": "custom.score", "metric_type": "count", "comparison": "gte", "threshold": 3, "bonus": "1"},
            {"metric": "custom.score", "metric_type": "numeric", "comparison": "lt", "threshold": 9.5, "penalty": "1"},
            {"metric": "custom.parts.first", "metric_type": "percentage", "comparison": "gte", "threshold": 90},
            {"metric": "custom.parts.good", "metric_type": "boolean", "comparison": "eq", "threshold": True},
        ]
    },
}


def body(**changes: Any) -> dict[str, Any]:
    changed = copy.deepcopy(BODY)
    changed["evaluation"] |= {"custom_metrics": changes.get("metrics", changed["evaluation"]["custom_metrics"])}
    if "criterion" in changes:
        changed["success_criteria"]["criteria"] = [changes["criterion"]]
    return changed


def found(given: dict[str, Any], catalog: Catalog = CATALOG) -> set[tuple[str, str]]:
    return {(each.path, each.code) for each in check_submission(given, catalog).problems}


def metric(name: str = "score", code: str = HONEST) -> dict[str, str]:
    return {"name": name, "code": code}


def test_a_work_with_custom_metrics_is_accepted_linted_and_quoted() -> None:
    checked = check_submission(BODY, CATALOG)
    assert checked.problems == ()
    assert checked.warnings == ()
    assert checked.quote is not None
    assert [float(each.total) for each in (checked.quote.minimum, checked.quote.maximum)] == [0, 2]


@pytest.mark.parametrize(
    ("metrics", "problem"),
    [
        ([metric(code="import numpy\n" + HONEST), metric("parts")], (f"{AT}/0/code", "unsupported_import")),
        ([metric(), metric("parts", "class A(dict): pass\n" + HONEST)], (f"{AT}/1/code", "unsupported_construct")),
        ([metric(code="def evaluate("), metric("parts")], (f"{AT}/0/code", "syntax_error")),
        ([metric(), metric("parts"), metric()], (f"{AT}/2/name", "duplicate_custom_metric")),
        ([metric(), metric("parts"), metric("a.b")], (f"{AT}/2/name", "invalid_name")),
        ([metric()], (AT, "evaluation_missing")),
        ([], (AT, "evaluation_missing")),
        ([metric(), metric("parts"), *(metric(f"m{n}") for n in range(19))], (AT, "too_many_custom_metrics")),
        (
            [metric(), metric("parts", "#" * 200_000 + HONEST), *(metric(f"m{n}", "#" * 200_000) for n in (1, 2))],
            (AT, "code_too_large"),
        ),
    ],
)
def test_every_problem_has_its_pointer(metrics: list[dict[str, str]], problem: tuple[str, str]) -> None:
    assert found(body(metrics=metrics)) == {problem}


def test_a_line_is_named_and_no_code_is_quoted() -> None:
    hush = "def evaluate(input, output, metadata):\n    hush = 1\n    del hush\n    return 1"
    [problem] = check_submission(body(metrics=[metric(code=hush), metric("parts")]), CATALOG).problems
    assert problem.message.startswith("Line 3: ")
    assert "hush" not in problem.message


@pytest.mark.parametrize(
    "metric_type", ["accuracy", "f1_score", "bleu_score", "rouge_score", "contains", "matches_schema"]
)
def test_types_of_built_in_metrics_are_not_for_custom_ones(metric_type: str) -> None:
    named = {"metric": "custom.score", "metric_type": metric_type, "comparison": "eq", "threshold": 1}
    problems = found(body(criterion=named))
    assert ("/success_criteria/criteria/0/metric_type", "invalid_metric_type") in problems


def test_where_the_section_is_off_custom_metrics_are_not_available() -> None:
    off = Catalog.of(parse_config({"extractors": {"custom": {"enabled": False}}}))
    named = BODY["success_criteria"]["criteria"][0]
    assert found(body(criterion=named), off) == {
        ("/success_criteria/criteria/0/metric", "custom_metrics_unavailable"),
        (AT, "custom_metrics_unavailable"),
    }


@pytest.mark.parametrize(
    "code",
    ["", "#" * 262_145, "#" * 600_000, "#" + "é" * 200_000],
    ids=["empty", "too long", "longer than all code may be", "too many bytes"],
)
def test_code_of_a_wrong_size_is_one_problem(code: str) -> None:
    problems = check_submission(body(metrics=[metric(code=code), metric("parts")]), CATALOG).problems
    assert [each.path for each in problems] == [f"{AT}/0/code"]


@pytest.mark.parametrize("metrics", [5, "x", [5], [{}], [{"name": 5, "code": 5}], {"a": 1}])
def test_what_has_no_shape_is_reported_as_such_and_breaks_nothing(metrics: Any) -> None:
    assert all(path.startswith(AT) for path, _ in found(body(metrics=metrics)))
