import json
from collections.abc import Mapping
from typing import Any

import pytest

from aex_models.numbers import JsonFloat
from aex_models.work import WorkSubmission
from aex_outcomes import Catalog
from aex_outcomes.submission.appraisal import Appraisal, Appraisals, Appraise, appraise_work

CATALOG = Catalog.of()
SCORE = {"metric": "rougeL", "metric_type": "rouge_score", "comparison": "gte", "threshold": 0.4, "bonus": "1"}
HALF_RIGHT = {"metric": "accuracy", "metric_type": "accuracy", "comparison": "eq", "threshold": 0.5}
HALF_NAMED = {"metric": "contains_keywords", "metric_type": "percentage", "comparison": "eq", "threshold": 0.5}
CRITERIA = [SCORE, HALF_RIGHT, HALF_NAMED]
BUDGET = {"max_cpc": "1.00", "max_cpa_total": "0.50"}
LABELS = {"reference": "the cat sat", "ground_truth": ["a"], "required_keywords": ["cat"]}


def work(criteria: Any = CRITERIA, budget: Any = BUDGET, evaluation: Any = LABELS, **more: Any) -> dict[str, Any]:
    return {
        "title": "t",
        "budget": budget,
        "evaluation": evaluation,
        "success_criteria": {"criteria": criteria},
        **more,
    }


def appraisal(appraise: Appraise, body: Mapping[str, Any]) -> Appraisal:
    return read_and_appraised(appraise, json.dumps(body))


def read_and_appraised(appraise: Appraise, text: str) -> Appraisal:
    body = json.loads(text, parse_float=JsonFloat)
    return appraise(body, WorkSubmission.model_validate(body), CATALOG)


WORKS = {
    "as it is": work(),
    "another price": work(budget={**BUDGET, "max_cpc": "2.00"}),
    "no cap": work([SCORE], budget={"max_cpc": "1.00"}),
    "a threshold that all meet": work([{**SCORE, "threshold": 0}, *CRITERIA[1:]]),
    "a single criterion": work([SCORE]),
    "another bonus": work([{**SCORE, "bonus": "0.10"}]),
    "nothing required": work([{**SCORE, "required": False}]),
    "nothing but a verifier's word": work([{**SCORE, "required": False, "bonus": "2"}], verification={"verifier": "v"}),
    "two labels": work(evaluation={**LABELS, "ground_truth": ["a", "b"]}),
    "two keywords": work(evaluation={**LABELS, "required_keywords": ["cat", "dog"]}),
    "a reference without words": work(evaluation={**LABELS, "reference": "…"}),
    "no criteria": {"title": "t", "budget": BUDGET},
    "more criteria than are enumerated": work([{**SCORE, "threshold": 0.01 * each} for each in range(1, 12)]),
    "science, which is gated": work([{**SCORE, "required": False, "bonus": "3"}], science={"checks": []}),
}


def test_cached_appraisals_equal_uncached_ones() -> None:
    remembering = Appraisals()
    for body in [*WORKS.values(), *reversed(WORKS.values())]:
        assert appraisal(remembering, body) == appraisal(appraise_work, body)


def test_works_that_differ_in_texts_share_an_appraisal() -> None:
    remembering = Appraisals()
    first = appraisal(remembering, work(title="one", evaluation={**LABELS, "reference": "the cat sat"}))
    other = work(title="two", input={"n": 1}, evaluation={**LABELS, "reference": "a dog ran", "ground_truth": ["z"]})
    assert appraisal(remembering, other) is first


def test_what_long_criteria_are_warned_of_is_not_remembered() -> None:
    remembering = Appraisals()
    schema = {"type": "object", "properties": {"x" * 20_000: {"type": "string"}}}
    body = work(
        [{"metric": "matches_schema", "metric_type": "matches_schema", "comparison": "eq", "threshold": schema}]
    )
    submission = WorkSubmission.model_validate(body)
    first, second = (remembering(body, submission, CATALOG) for _ in range(2))
    assert first == second
    assert first is not second


@pytest.mark.parametrize(("one", "other"), [("0.5", "0.50"), ("1.0", "1"), ("0.5", "0.5000")])
def test_numbers_are_distinguished_by_their_text(one: str, other: str) -> None:
    remembering = Appraisals()
    text = json.dumps(work([{**SCORE, "weight": "here"}]))
    found = [read_and_appraised(remembering, text.replace('"here"', each)) for each in (one, other)]
    assert found[0] == found[1]
    assert found[0] is not found[1]


def test_true_and_one_are_not_taken_for_each_other() -> None:
    def flag(threshold: Any) -> dict[str, Any]:
        return {"metric": "custom.x", "metric_type": "custom", "comparison": "eq", "threshold": threshold}

    remembering, code = Appraisals(), {"custom_metrics": [{"name": "x", "code": "pass"}]}
    for threshold in (True, 1, 1.0):
        body = work([flag(threshold)], evaluation=code)
        assert appraisal(remembering, body) == appraisal(appraise_work, body)


def test_the_oldest_is_forgotten_where_there_are_too_many() -> None:
    remembering = Appraisals(max_works=2)
    first = appraisal(remembering, WORKS["as it is"])
    assert appraisal(remembering, WORKS["no cap"]) is appraisal(remembering, WORKS["no cap"])
    assert appraisal(remembering, WORKS["as it is"]) is first
    appraisal(remembering, WORKS["another bonus"])
    assert appraisal(remembering, WORKS["as it is"]) is not first
