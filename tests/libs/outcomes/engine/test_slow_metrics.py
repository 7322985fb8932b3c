from typing import Any

import pytest

from aex_models.criteria import SuccessCriteria
from aex_outcomes.catalog import Catalog
from aex_outcomes.engine.slow_metrics import (
    compute_max_dry_run_seconds,
    compute_max_slow_seconds,
    has_slow_metric,
    list_evaluation_data,
)

CATALOG = Catalog.of()
CODE = [{"name": name, "code": "def evaluate(i, o, m): return 1"} for name in ("mine", "other")]
DATA = {"custom_metrics": CODE}


def criteria(*metrics: str) -> SuccessCriteria:
    rows = [
        {"metric": metric, "metric_type": "numeric", "comparison": "gte", "threshold": at}
        for at, metric in enumerate(metrics)
    ]
    return SuccessCriteria.model_validate({"criteria": rows})


@pytest.mark.parametrize(
    ("required", "is_slow"),
    [
        (None, False),
        (criteria("word_count"), False),
        (criteria("no_metric"), False),
        (criteria("word_count", "custom.mine"), True),
    ],
    ids=["no criteria", "cheap metrics alone", "an unknown metric", "one slow metric"],
)
def test_criteria_are_slow_if_the_catalogue_says_so(required: SuccessCriteria | None, is_slow: bool) -> None:
    assert has_slow_metric(required, CATALOG) is is_slow


@pytest.mark.parametrize(
    ("required", "evaluation", "seconds"),
    [
        (None, DATA, 0),
        (criteria("custom.mine"), {}, 0),
        (criteria("custom.mine"), {"reference": "A harbour."}, 0),
        (criteria("custom.third"), DATA, 0),
        (criteria("word_count"), DATA, 0),
        (criteria("custom.mine", "no_metric"), DATA, 5),
        (criteria("custom.mine", "word_count", "custom.mine.key"), DATA, 5),
        (criteria("custom.mine", "custom.other"), DATA, 10),
    ],
    ids=["no criteria", "no data", "no code", "undeclared", "no criterion", "unknown", "one code", "two codes"],
)
def test_each_code_that_criteria_name_counts_once(
    required: SuccessCriteria | None, evaluation: dict[str, Any], seconds: float
) -> None:
    assert compute_max_slow_seconds(required, evaluation, CATALOG) == seconds


def test_all_code_of_evaluation_data_is_timed() -> None:
    assert compute_max_dry_run_seconds(DATA, CATALOG) == 30
    assert compute_max_dry_run_seconds({"reference": "x"}, CATALOG) == 0


def test_named_data_are_parts_of_evaluation_data() -> None:
    data = {"named": {"a": {"pattern": "x"}}}
    assert list(list_evaluation_data(data)) == [("", data), ("/named/a", {"pattern": "x"})]
