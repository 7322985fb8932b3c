"""Which verdicts rest on the consumer's own code, and how long it may keep them waiting."""

from typing import Any

import pytest

from aex_models.criteria import SuccessCriteria
from aex_models.work import Evaluation
from aex_verification.rules.custom_code import custom_runs, custom_seconds, misses_the_sandbox, needs_custom_code
from tests.services.verification.rules.test_inconclusive import CUSTOM, LOST, result

EVALUATION = Evaluation.model_validate(
    {"custom_metrics": [{"name": "mine", "code": "def evaluate(i, o, m): return 1"}]}
)


def criteria(*metrics: str) -> SuccessCriteria:
    rows: list[dict[str, Any]] = [
        {"metric": metric, "metric_type": "numeric", "comparison": "gte", "threshold": at}
        for at, metric in enumerate(metrics)
    ]
    return SuccessCriteria.model_validate({"criteria": rows})


@pytest.mark.parametrize(
    ("wanted", "needed"),
    [(None, False), (criteria("word_count"), False), (criteria("word_count", "custom.mine"), True)],
    ids=["no criteria", "built-in metrics alone", "one of its own"],
)
def test_a_verdict_waits_for_custom_code_where_a_criterion_names_it(
    wanted: SuccessCriteria | None, needed: bool
) -> None:
    assert needs_custom_code(wanted) is needed


def test_each_criterion_on_custom_code_is_a_run() -> None:
    assert custom_runs(criteria("custom.mine", "word_count", "custom.mine"), EVALUATION) == 2


@pytest.mark.parametrize(
    ("wanted", "evaluation"),
    [
        (None, EVALUATION),
        (criteria("custom.mine"), None),
        (criteria("custom.mine"), Evaluation(reference="A harbour.")),
        (criteria("word_count"), EVALUATION),
    ],
    ids=["no criteria", "no evaluation data", "no code", "code that no criterion names"],
)
def test_without_criteria_on_code_and_the_code_itself_nothing_is_run(
    wanted: SuccessCriteria | None, evaluation: Evaluation | None
) -> None:
    assert custom_runs(wanted, evaluation) == 0


def test_runs_may_take_their_time_each_and_ten_minutes_in_all() -> None:
    assert custom_seconds(3, 2_500) == 7.5
    assert custom_seconds(100, 30_000) == 600


def test_only_a_missing_sandbox_is_taken_for_one() -> None:
    assert [misses_the_sandbox(result(code)) for code in (None, CUSTOM, LOST)] == [False, False, True]
