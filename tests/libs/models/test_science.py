"""What a work demands of the science behind a candidate, and what of that everyone may read."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from aex_models.domains import Domain, DomainGuess, ValueRange
from aex_models.numbers import JsonFloat
from aex_models.science import Constraint, Science, ScienceResult, ScientificReview
from aex_models.science_checks import DEFAULT_CHECKS

DIGEST = "c0ffee" + "0" * 58
MEAN = {"name": "mean_fitness", "stat": "mean", "column": "mut_score"}
WHOLE: dict[str, Any] = {
    "original_goal": "Find deleterious mutations",
    "question": "What is the mean fitness?",
    "domain": "bioinformatics/DMS",
    "expected_outcome": {"mean": "canary"},
    "reviewer_sees_expected": True,
    "outcome_criteria": ["names a number"],
    "output_constraints": {"mean_fitness": {"min": -5, "max": 2, "typical": 0}},
    "statistics": [MEAN],
    "data": [{"name": "scores.csv", "sha256": DIGEST, "media_type": "text/csv"}],
    "checks": ["value_ranges", "recompute_statistics", "peer_review", "no_extreme_outliers"],
    "strict": False,
}


def codes(raw: Any, model: Any = Science) -> set[str]:
    with pytest.raises(ValidationError) as refused:
        model.model_validate(raw)
    return {each["type"] for each in refused.value.errors()}


def test_science_that_says_nothing_asks_for_ranges_and_recomputation_strictly() -> None:
    plain = Science()
    assert (plain.checks, plain.strict, plain.reviewer_sees_expected) == (DEFAULT_CHECKS, True, False)
    assert DEFAULT_CHECKS == ("value_ranges", "recompute_statistics")


def test_what_everyone_may_read_has_neither_the_expected_outcome_nor_digests() -> None:
    whole = Science.model_validate(WHOLE)
    shown = whole.without_secrets()
    assert (shown.expected_outcome, [(each.name, each.sha256) for each in shown.data]) == (None, [("scores.csv", None)])
    assert not {"canary", DIGEST} & set(json.dumps(shown.model_dump(mode="json")).split('"'))
    secret = {"expected_outcome", "data"}
    assert shown.model_dump(exclude=secret) == whole.model_dump(exclude=secret)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(ANYTHING)
def test_no_expected_outcome_whatever_it_is_is_left_in_what_everyone_may_read(outcome: Any) -> None:
    shown = Science.model_validate({**WHOLE, "expected_outcome": outcome}).without_secrets()
    assert shown == Science.model_validate({**WHOLE, "expected_outcome": None}).without_secrets()
    assert shown.without_secrets() == shown


@pytest.mark.parametrize(
    "change",
    [
        {"statistics": [MEAN, {**MEAN, "stat": "median"}]},
        {"data": [{"name": "a.csv", "sha256": DIGEST}, {"name": "a.csv", "sha256": "d" * 64}]},
    ],
)
def test_names_are_given_once(change: dict[str, Any]) -> None:
    assert codes({**WHOLE, **change}) == {"duplicate_name"}


@pytest.mark.parametrize(
    "change",
    [
        {"expected": 1},
        {"domain": "dms; drop"},
        {"strict": "yes"},
        {"reviewer_sees_expected": 1},
        {"outcome_criteria": 5},
        {"output_constraints": {"": {"min": 1}}},
        {"output_constraints": {"two\nlines": {"min": 1}}},
        {"output_constraints": {"n" * 301: {"min": 1}}},
        {"output_constraints": {"mean": {"min": 2, "max": 1}}},
        {"output_constraints": {"mean": {"min": "0"}}},
        {"output_constraints": {"mean": {"max": True}}},
        {"output_constraints": {"mean": {"max": float("inf")}}},
        {"data": [{"name": "../etc/passwd", "sha256": DIGEST}]},
        {"data": [{"name": "a.csv", "sha256": "feed"}]},
        {"data": [{"name": "a.csv", "sha256": DIGEST, "media_type": "csv"}]},
        {"data": [{"name": "a.csv", "uri": "https://example.org/a.csv"}]},
        {"data": [{"name": f"{n}.csv", "sha256": DIGEST} for n in range(11)]},
        {"checks": [""]},
        {"statistics": [{**MEAN, "name": f"m{n}"} for n in range(101)]},
    ],
)
def test_what_is_no_science_is_refused(change: dict[str, Any]) -> None:
    assert codes({**WHOLE, **change})


@pytest.mark.parametrize("name", ["log2 FC_mean", "24h/mean", "σ₁", "n" * 300])
def test_a_constraint_may_be_of_whatever_a_claim_is_called(name: str) -> None:
    assert Science.model_validate({"output_constraints": {name: {"min": 1}}}).output_constraints[name].min == 1


def test_one_end_of_a_constraint_is_enough_and_both_may_be_equal() -> None:
    assert Constraint(max=1).min is None
    assert Constraint(min=1, max=1).max == 1
    assert Constraint.model_validate({"min": JsonFloat("1.50")}).min == 1.5


def test_science_survives_json() -> None:
    whole = Science.model_validate(WHOLE)
    assert Science.model_validate_json(whole.model_dump_json()) == whole
    assert Science.model_validate(whole.model_dump(mode="json", exclude_none=True)) == whole


def test_what_a_review_does_not_say_is_unknown_and_its_verdicts_are_said() -> None:
    said = {
        "outcome_verdict": "answers_question",
        "scientific_validity": "valid",
        "confidence": 0.9,
        "recommendation": "accept",
    }
    review = ScientificReview.model_validate(said)
    only_a_reader = ("answers_original_question", "values_plausible", "values_consistent", "reasoning_sound")
    assert {getattr(review, name) for name in only_a_reader} == {None}
    for name in said:
        assert codes({**said, name: None}, ScientificReview)
    assert codes({**said, "confidence": 1.1}, ScientificReview) == {"less_than_equal"}


def test_nothing_is_claimed_of_a_candidate_that_the_gate_could_not_judge() -> None:
    unknown = ScienceResult(passed=None)
    assert (unknown.values_plausible, unknown.values_consistent, unknown.review) == (None, None, None)


def test_a_domain_is_data_and_nothing_else() -> None:
    raw = {"name": "physics/optics", "description": "Light.", "value_ranges": {"n": {"min": 1}}, "keywords": ["lens"]}
    domain = Domain.model_validate(raw)
    assert (domain.value_ranges["n"].max, domain.sanity_checks) == (None, ())
    assert codes({**raw, "class": "package:Domain"}, Domain) == {"extra_forbidden"}
    assert codes({**raw, "value_ranges": {"n": {"min": 2, "max": 1}}}, Domain) == {"invalid_range"}
    assert codes({"min": 0, "typical_std": 0}, ValueRange) == {"greater_than"}


def test_no_guess_at_a_domain_is_an_answer_too() -> None:
    assert DomainGuess(domain=None).scores == {}
