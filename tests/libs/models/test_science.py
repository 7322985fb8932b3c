from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_models.domains import Domain, ValueRange
from aex_models.examination import DEFAULT_CHECKS
from aex_models.numbers import JsonFloat
from aex_models.science import Constraint, Science, ScientificReview
from tests.libs.models.refusing import codes

DIGEST = "c0ffee" + "0" * 58
MEAN = {"name": "mean_fitness", "stat": "mean", "column": "mut_score"}
COMPLETE: dict[str, Any] = {
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


def test_default_science_checks_ranges_and_recomputes_strictly() -> None:
    plain = Science()
    assert (plain.checks, plain.strict, plain.reviewer_sees_expected) == (DEFAULT_CHECKS, True, False)
    assert DEFAULT_CHECKS == ("value_ranges", "recompute_statistics")


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(ANYTHING)
def test_public_science_excludes_expected_outcome_and_digests(outcome: Any) -> None:
    complete = Science.model_validate({**COMPLETE, "expected_outcome": outcome})
    public = complete.without_secrets()
    assert public == public.without_secrets() == Science.model_validate(COMPLETE).without_secrets()
    assert public.expected_outcome is None
    assert [(each.name, each.sha256) for each in public.data] == [("scores.csv", None)]
    secret = {"expected_outcome", "data"}
    assert public.model_dump(exclude=secret) == complete.model_dump(exclude=secret)


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
        {"data": [{"name": "a.csv", "sha256": DIGEST}, {"name": "a.csv", "sha256": "d" * 64}]},
        {"statistics": [MEAN, {**MEAN, "stat": "median"}]},
        {"statistics": [{**MEAN, "name": f"m{n}"} for n in range(101)]},
    ],
)
def test_malformed_science_is_refused(change: dict[str, Any]) -> None:
    assert codes(Science, {**COMPLETE, **change})


@pytest.mark.parametrize("name", ["log2 FC_mean", "24h/mean", "σ₁", "n" * 300])
def test_constraint_may_have_any_claim_name(name: str) -> None:
    assert Science.model_validate({"output_constraints": {name: {"min": 1}}}).output_constraints[name].min == 1


def test_constraint_needs_one_end() -> None:
    assert Constraint(max=1).min is None
    assert Constraint(min=1, max=1).max == 1
    assert Constraint.model_validate({"min": JsonFloat("1.50")}).min == 1.5


def test_science_survives_json() -> None:
    complete = Science.model_validate(COMPLETE)
    assert Science.model_validate_json(complete.model_dump_json()) == complete
    assert Science.model_validate(complete.model_dump(mode="json", exclude_none=True)) == complete


def test_review_requires_its_verdicts_and_nothing_else() -> None:
    message = {
        "outcome_verdict": "answers_question",
        "scientific_validity": "valid",
        "confidence": 0.9,
        "recommendation": "accept",
    }
    review = ScientificReview.model_validate(message)
    only_a_reader = ("answers_original_question", "values_plausible", "values_consistent", "reasoning_sound")
    assert {getattr(review, name) for name in only_a_reader} == {None}
    for name in message:
        assert codes(ScientificReview, {**message, name: None})
    assert codes(ScientificReview, {**message, "confidence": 1.1}) == {"less_than_equal"}


def test_domain_is_only_data() -> None:
    raw = {"name": "physics/optics", "description": "Light.", "value_ranges": {"n": {"min": 1}}, "keywords": ["lens"]}
    domain = Domain.model_validate(raw)
    assert (domain.value_ranges["n"].max, domain.sanity_checks) == (None, ())
    assert codes(Domain, {**raw, "class": "package:Domain"}) == {"extra_forbidden"}
    assert codes(Domain, {**raw, "value_ranges": {"n": {"min": 2, "max": 1}}}) == {"invalid_range"}
    assert codes(ValueRange, {"min": 0, "typical_std": 0}) == {"greater_than"}
