"""Searches for the score are held; revisions are honest."""

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_governance.rules.config import load_rule_configs
from aex_governance.rules.score_probing import RULE
from aex_models.governance import Action, Flag
from aex_outcomes.catalog import Catalog
from tests.services.governance.requests import case

THRESHOLDS = load_rule_configs()[RULE.name].thresholds


def flag_of(
    values: Sequence[Any], similarities: Sequence[float | None] | float = 0.97, metric: str = "rougeL", **more: Any
) -> Flag | None:
    """Return the flag of attempts with these values, the present attempt last."""
    expanded = [similarities] * (len(values) - 1) if isinstance(similarities, float) else similarities
    previous = [
        {"output_hash": f"{index:064x}", "metrics": {metric: value}, "similarity": similarity}
        for index, (value, similarity) in enumerate(zip(values[:-1], expanded, strict=True), 1)
    ]
    plain = {"extracted_metrics": {metric: values[-1]}, "previous_attempts": previous}
    return RULE.check(case(**{**plain, **more}), THRESHOLDS)


@pytest.mark.parametrize(
    ("values", "similarities"),
    [
        ([0.50, 0.51, 0.52, 0.53], 0.95),
        ([0.50, 0.51, 0.52, 0.53, 0.54, 0.55], [0.91, 0.93, 0.95, 0.97, 0.99]),
        ([0.40, 0.50, 0.51, 0.52, 0.53], [0.3, 0.92, 0.95, 0.98]),  # after an honest first one
        ([0.50, 0.50, 0.52, 0.52, 0.54, 0.56], 0.97),  # some tries change nothing
        ([0.50, 0.45, 0.52, 0.47, 0.54, 0.48, 0.56], 0.96),  # every other try fails
        ([0.50, 0.51, 0.52, 0.53], 0.88),
    ],
)
def test_small_edits_with_a_climbing_metric_are_held(values: list[float], similarities: Any) -> None:
    flag = flag_of(values, similarities)
    assert flag is not None
    assert RULE.actions[flag.severity] is Action.HOLD
    figures = flag.evidence["metrics"]["rougeL"]
    assert figures["values"][-1] == values[-1]
    assert figures["climbs"] >= 3
    assert "rougeL" in flag.message


@pytest.mark.parametrize(
    ("values", "similarities"),
    [
        ([0.5], []),
        ([0.5, 0.6], 0.99),  # one small correction that helps
        ([0.4, 0.5, 0.6, 0.7, 0.8], [0.4, 0.5, 0.6, 0.8]),  # rewritten each time
        ([0.50, 0.55, 0.60], 0.96),  # two corrections of some size
        ([0.50, 0.51, 0.52, 0.53], 0.87),
        ([0.50, 0.51, 0.51, 0.51], 0.95),
        ([0.5, 0.5, 0.5, 0.5, 0.5], 0.99),  # typos
        ([0.50, 0.51, 0.52, 0.53], [None, None, None]),
        ([0.9, 0.9000000001, 0.9000000002, 0.9000000003], 0.99),
    ],
)
def test_revisions_are_honest(values: list[float], similarities: Any) -> None:
    assert flag_of(values, similarities) is None


@pytest.mark.parametrize(
    ("values", "similarities"), [([0.5, 0.51, 0.52], 0.97), ([0.2, 0.5, 0.51, 0.52], [0.3, 0.97, 0.99])]
)
def test_two_tiny_edits_that_both_help_are_held(values: list[float], similarities: Any) -> None:
    flag = flag_of(values, similarities)
    assert flag is not None
    assert (flag.evidence["metrics"]["rougeL"]["climbs"], flag.evidence["min_tiny_similarity"]) == (2, 0.97)


@pytest.mark.parametrize("values", [[0.50, 0.51, 0.51, 0.52], [0.50, 0.52, 0.51, 0.53], [0.50, 0.49, 0.51, 0.52]])
def test_one_of_three_small_edits_may_fail(values: list[float]) -> None:
    flag = flag_of(values, 0.9)
    assert flag is not None
    assert flag.evidence["metrics"]["rougeL"]["climbs"] == 2


@pytest.mark.parametrize("values", [[False, False, True], [False, True, True, True], [0.0, 0.0, 1.0]])
def test_passed_custom_check_is_no_climb(values: list[Any]) -> None:
    assert flag_of(values, 0.99, metric="custom.valid") is None


@pytest.mark.parametrize("entry", Catalog.of().entries, ids=lambda entry: entry.name)
def test_secret_metrics_of_the_catalogue_can_be_probed(entry: Any) -> None:
    assert (flag_of([0.50, 0.51, 0.52, 0.53], metric=entry.name.replace("*", "score")) is not None) is entry.secret


def test_custom_metrics_climb_in_either_direction() -> None:
    assert flag_of([9.0, 8.5, 8.0, 7.5], metric="custom.loss") is not None
    assert flag_of([9.0, 8.5, 8.0, 7.5], metric="bleu_score") is None


def test_equal_output_is_no_edit() -> None:
    same = {"output_hash": "0" * 64, "metrics": {"rougeL": 0.5}, "similarity": 1.0}
    assert flag_of([0.5, 0.6], 0.97, previous_attempts=[same, same, same]) is None


@pytest.mark.parametrize("invalid", [True, None])
def test_invalid_number_does_not_climb(invalid: Any) -> None:
    assert flag_of([0.5, 0.51, 0.52, invalid]) is None


def test_random_scores_are_seldom_a_search() -> None:
    dice = Random(7)
    rows = [[0.5 + dice.gauss(0, 0.01) for _ in range(dice.randint(4, 12))] for _ in range(500)]
    assert sum(flag_of(row) is not None for row in rows) < 0.1 * len(rows)


def test_long_search_with_failed_edits_is_found() -> None:
    dice = Random(7)
    found = 0
    for _ in range(200):
        best, values = 0.5, [0.5]
        while len(values) < 15:
            tried = best + dice.uniform(-0.03, 0.02)
            values.append(tried)
            best = max(best, tried)
        found += flag_of([*values, best + 0.01]) is not None
    assert found > 0.9 * 200


@given(st.lists(st.floats(0, 1), min_size=4, max_size=10, unique=True), st.floats(0.88, 1))
def test_steady_climb_is_always_found(values: list[float], similarity: float) -> None:
    steps = sorted({round(each, 3) for each in values})
    if len(steps) >= 4:
        assert flag_of(steps, similarity) is not None
