"""The gate: every branch of spec file 4, and that no review makes anything pass that arithmetic forbids."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_models.examination import Examination, MismatchSeverity, Reconciliation, ValueMismatch
from aex_models.faults import Fault
from aex_models.science import (
    OutcomeVerdict,
    Recommendation,
    ReviewFailure,
    Science,
    ScienceResult,
    ScientificReview,
    ScientificValidity,
)
from aex_outcomes.science.caps import RECOMMENDATIONS, VALIDITIES, VERDICTS
from aex_outcomes.science.gate import conclude
from aex_outcomes.science.review.port import Reviewed
from tests.libs.outcomes.science.reviews import (
    ALL_CHECKS,
    examined,
    match,
    mismatch,
    not_claimed,
    not_recomputed,
    problem,
    review,
    said,
    science,
    silent,
    violation,
)
from tests.parts.reviewing import REVIEWER

ARITHMETIC = ("value_ranges", "recompute_statistics")
MINOR, MAJOR, CRITICAL = MismatchSeverity.MINOR, MismatchSeverity.MAJOR, MismatchSeverity.CRITICAL
ANSWERS, PARTIAL, NO_ANSWER, WRONG = (
    OutcomeVerdict.ANSWERS_QUESTION,
    OutcomeVerdict.PARTIAL_ANSWER,
    OutcomeVerdict.DOES_NOT_ANSWER,
    OutcomeVerdict.WRONG_ANSWER,
)
VALID, QUESTIONABLE, INVALID = ScientificValidity.VALID, ScientificValidity.QUESTIONABLE, ScientificValidity.INVALID
ACCEPT, REVISE, REJECT = Recommendation.ACCEPT, Recommendation.REVISE, Recommendation.REJECT
OTHER = "other"


def codes(result: ScienceResult) -> list[str]:
    return [each.code for each in result.reasons]


@pytest.mark.parametrize(
    ("demands", "found", "passed", "reasons"),
    [
        (science("mean_fitness"), examined(match()), True, []),
        (science(), examined(match()), True, []),
        (science(), examined(match(), not_recomputed(OTHER)), True, []),
        (science(), examined(match(), not_claimed(OTHER)), True, []),
        (science(), examined(), False, ["nothing_recomputed"]),
        (science(), examined(not_recomputed()), False, ["nothing_recomputed"]),
        (science(), examined(not_claimed()), False, ["nothing_recomputed"]),
        (science("mean_fitness", OTHER), examined(match()), False, ["statistic_not_claimed"]),
        (science("mean_fitness", OTHER), examined(match(), not_claimed(OTHER)), False, ["statistic_not_claimed"]),
        (science("mean_fitness", OTHER), examined(match(), not_recomputed(OTHER)), False, ["statistic_not_recomputed"]),
        (science("mean_fitness"), examined(mismatch(MINOR)), False, ["value_mismatch"]),
        (science("mean_fitness"), examined(mismatch(CRITICAL)), False, ["value_mismatch"]),
        (science(), examined(match(), mismatch(MAJOR, OTHER)), False, ["value_mismatch"]),
        (science(), examined(match(), domain_violations=(violation(),)), False, ["domain_violation"]),
        (science(), examined(match(), problems=(problem(Fault.AGENT),)), True, []),
        (science(), examined(problems=(problem(Fault.AGENT),)), False, ["nothing_recomputed"]),
        (science(), examined(problems=(problem(Fault.PLATFORM),)), None, ["data_unavailable"]),
        (science(), examined(match(), problems=(problem(Fault.PLATFORM),)), None, ["data_unavailable"]),
        (
            science(),
            examined(mismatch(), problems=(problem(Fault.PLATFORM),)),
            None,
            ["data_unavailable", "value_mismatch"],
        ),
    ],
)
@pytest.mark.parametrize("strict", [True, False])
def test_without_a_reviewer_arithmetic_decides_whether_strict_or_not(
    demands: Science, found: Examination, passed: bool | None, reasons: list[str], strict: bool
) -> None:
    for checks in (ARITHMETIC, ALL_CHECKS):
        result = conclude(demands.model_copy(update={"checks": checks, "strict": strict}), found, None)
        assert result.passed is passed
        assert codes(result) == reasons
        assert result.warnings == ()
        assert result.review is None
        assert result.reviewer is None


def test_a_reason_names_what_it_is_about_and_tells_no_value() -> None:
    result = conclude(science("a", "b", checks=ARITHMETIC), examined(match("a"), not_claimed("b")), None)
    assert result.reasons[0].names == ("b",)
    assert "0.39" not in result.model_dump_json(include={"reasons"})


@pytest.mark.parametrize(
    ("checks", "passed"),
    [
        (("value_ranges",), False),
        (("recompute_statistics",), False),
        (("fitness_mean_near_zero",), True),
        ((), True),
        (ALL_CHECKS, False),
    ],
)
def test_checks_that_are_off_leave_their_part_out(checks: tuple[str, ...], passed: bool) -> None:
    found = examined(mismatch(), domain_violations=(violation(),))
    result = conclude(science(checks=checks), found, None)
    assert result.passed is passed
    assert bool(result.value_mismatches) is ("recompute_statistics" in checks)
    assert bool(result.domain_violations) is ("value_ranges" in checks)


def test_a_demanded_sanity_check_that_fails_counts_whatever_else_is_checked() -> None:
    found = examined(match(), domain_violations=(violation("sanity_check", "fitness_mean_near_zero"),))
    result = conclude(science(checks=("fitness_mean_near_zero",)), found, None)
    assert result.passed is False
    assert result.values_plausible is False


def test_data_that_nothing_is_to_be_recomputed_from_may_be_lost() -> None:
    lost = examined(problems=(problem(Fault.PLATFORM),))
    assert conclude(science(checks=("value_ranges",)), lost, None).passed is True
    for check in ("fitness_mean_near_zero", "recompute_statistics", "peer_review"):
        result = conclude(science(checks=("value_ranges", check)), lost, None)
        assert result.passed is None
        assert codes(result) == ["data_unavailable"]


@pytest.mark.parametrize(
    ("found", "plausible"),
    [
        (examined(in_range=0), None),
        (examined(in_range=2), True),
        (examined(in_range=2, domain_violations=(violation(),)), False),
    ],
)
def test_values_are_plausible_where_one_was_checked_and_none_violates(
    found: Examination, plausible: bool | None
) -> None:
    assert conclude(science(), found, None).values_plausible is plausible


@pytest.mark.parametrize(
    ("names", "found", "consistent"),
    [
        ((), examined(), None),
        ((), examined(not_recomputed()), None),
        ((), examined(not_claimed()), None),
        ((), examined(match()), True),
        ((), examined(match(), not_recomputed(OTHER)), True),
        ((), examined(match(), mismatch(name=OTHER)), False),
        (("mean_fitness",), examined(match()), True),
        (("mean_fitness",), examined(not_recomputed()), None),
        (("mean_fitness",), examined(not_claimed()), False),
        (("mean_fitness", OTHER), examined(match()), False),
        (("mean_fitness", OTHER), examined(match(), not_recomputed(OTHER)), False),
        (("mean_fitness", OTHER), examined(match(), mismatch(MINOR, OTHER)), False),
        (
            ("mean_fitness", OTHER),
            examined(match(), not_recomputed(OTHER), problems=(problem(Fault.PLATFORM),)),
            None,
        ),
    ],
)
def test_values_are_consistent_where_all_that_is_demanded_matches(
    names: tuple[str, ...], found: Examination, consistent: bool | None
) -> None:
    assert conclude(science(*names), found, None).values_consistent is consistent


def test_what_could_have_been_claimed_is_named_without_its_value() -> None:
    [reason] = conclude(science(), examined(not_recomputed(), not_claimed("std_fitness")), None).reasons
    assert (reason.code, reason.names) == ("nothing_recomputed", ("std_fitness",))
    assert "claim at least one" in reason.message
    [demanded] = conclude(science("mean_fitness", OTHER), examined(match()), None).reasons
    assert (demanded.code, demanded.names) == ("statistic_not_claimed", (OTHER,))


def test_where_no_file_has_anything_to_recompute_from_the_reason_says_so() -> None:
    [reason] = conclude(science(), examined(not_recomputed()), None).reasons
    assert (reason.code, reason.names) == ("nothing_recomputed", ())
    assert "column of numbers" in reason.message


def test_mismatches_are_told_with_both_numbers_and_whether_they_are_secret() -> None:
    secret = mismatch().model_copy(update={"secret": True})
    assert conclude(science(), examined(secret), None).value_mismatches == (
        ValueMismatch(
            name="mean_fitness", claimed=11.17, actual=-0.39, severity=CRITICAL, relative_error=29.6, secret=True
        ),
    )


def test_a_mismatch_of_a_claim_that_is_no_number_is_critical() -> None:
    odd = mismatch().model_copy(update={"claimed": None, "severity": None})
    result = conclude(science(), examined(odd), said())
    assert result.passed is False
    assert codes(result) == ["value_mismatch"]
    assert result.review is not None
    assert result.review.outcome_verdict is WRONG


GOOD = examined(match())


@pytest.mark.parametrize(
    ("found", "words", "strict", "lenient", "reasons"),
    [
        (GOOD, (ANSWERS, VALID, ACCEPT), True, True, []),
        (GOOD, (ANSWERS, VALID, REVISE), True, True, []),
        (GOOD, (ANSWERS, VALID, REJECT), False, False, ["review_rejected"]),
        (GOOD, (ANSWERS, QUESTIONABLE, REVISE), False, True, ["review_questionable"]),
        (GOOD, (ANSWERS, QUESTIONABLE, REJECT), False, False, ["review_rejected"]),
        (GOOD, (ANSWERS, INVALID, ACCEPT), False, False, ["review_rejected"]),
        (GOOD, (PARTIAL, VALID, ACCEPT), False, True, ["review_questionable"]),
        (GOOD, (NO_ANSWER, VALID, ACCEPT), False, True, ["review_questionable"]),
        (GOOD, (WRONG, VALID, ACCEPT), False, False, ["review_rejected"]),
        (GOOD, (WRONG, INVALID, REJECT), False, False, ["review_rejected"]),
        (examined(mismatch(MINOR)), (ANSWERS, VALID, ACCEPT), False, True, ["value_mismatch"]),
        (examined(mismatch(MAJOR)), (ANSWERS, VALID, ACCEPT), False, True, ["value_mismatch"]),
        (examined(mismatch(CRITICAL)), (ANSWERS, VALID, ACCEPT), False, False, ["value_mismatch"]),
        (
            examined(mismatch(MINOR)),
            (PARTIAL, VALID, ACCEPT),
            False,
            True,
            ["value_mismatch", "review_questionable"],
        ),
        (
            examined(match(), domain_violations=(violation(),)),
            (ANSWERS, VALID, ACCEPT),
            False,
            False,
            ["domain_violation"],
        ),
        (examined(), (ANSWERS, VALID, ACCEPT), False, True, ["nothing_recomputed"]),
    ],
)
def test_with_a_reviewer_the_capped_review_decides(
    found: Examination, words: tuple[Any, ...], strict: bool, lenient: bool, reasons: list[str]
) -> None:
    for is_strict, passed in ((True, strict), (False, lenient)):
        result = conclude(science(strict=is_strict), found, said(*words))
        assert result.passed is passed
        told, silent_ones = (result.warnings, result.reasons) if passed else (result.reasons, result.warnings)
        assert [each.code for each in told] == reasons
        assert silent_ones == ()
        assert result.reviewer == REVIEWER


def test_a_statistic_that_was_not_claimed_is_at_best_questionable() -> None:
    result = conclude(science("mean_fitness", OTHER), GOOD, said())
    assert result.passed is False
    assert result.review is not None
    assert result.review.scientific_validity is QUESTIONABLE
    assert result.review.outcome_verdict is ANSWERS
    assert result.review.recommendation is REVISE


def test_an_enthusiastic_review_of_a_critical_mismatch_is_stored_as_arithmetic_allows_it() -> None:
    result = conclude(science(strict=False), examined(mismatch(), domain_violations=(violation(),)), said())
    kept = result.review
    assert kept is not None
    assert (kept.outcome_verdict, kept.scientific_validity, kept.recommendation) == (WRONG, INVALID, REJECT)
    assert kept.answers_original_question is False
    assert kept.values_plausible is False
    assert kept.values_consistent is False
    assert kept.value_mismatches == result.value_mismatches
    assert kept.domain_violations == ("11.17 is above 2",)


def test_what_arithmetic_could_not_tell_a_reader_may_doubt_and_not_vouch_for() -> None:
    nothing = examined(in_range=0)
    trusting = conclude(science(), nothing, said()).review
    doubting = conclude(science(), nothing, said(values_plausible=False, values_consistent=False)).review
    assert trusting is not None
    assert doubting is not None
    assert (trusting.values_plausible, trusting.values_consistent) == (None, None)
    assert (doubting.values_plausible, doubting.values_consistent) == (False, False)


def test_mismatches_in_a_readers_own_words_are_secret_for_the_reader_saw_everything() -> None:
    own = ValueMismatch(claimed=1, actual=2, severity=MAJOR)
    kept = conclude(science(), GOOD, said(value_mismatches=(own,))).review
    assert kept is not None
    assert [each.secret for each in kept.value_mismatches] == [True]


@pytest.mark.parametrize("failure", list(ReviewFailure))
@pytest.mark.parametrize("found", [GOOD, examined(mismatch()), examined()])
def test_where_no_review_could_be_had_the_gate_cannot_tell(failure: ReviewFailure, found: Examination) -> None:
    result = conclude(science(), found, silent(failure))
    assert result.passed is None
    assert codes(result)[0] == failure.value
    assert result.review_failure is failure
    assert ("value_mismatch" in codes(result)) is bool(result.value_mismatches)


def test_a_failed_review_that_nobody_demanded_changes_nothing() -> None:
    result = conclude(science(checks=ARITHMETIC), GOOD, silent(ReviewFailure.UNPARSABLE))
    assert result.passed is True
    assert result.review_failure is None


def test_where_nothing_but_a_review_was_demanded_there_is_no_pass_without_one() -> None:
    assert conclude(science(checks=("peer_review",)), examined(), None).passed is None
    assert conclude(science(checks=("peer_review",)), examined(), said()).passed is True


def test_a_review_and_a_failure_at_once_are_refused() -> None:
    with pytest.raises(ValueError, match="Either"):
        Reviewed(REVIEWER)
    with pytest.raises(ValueError, match="Either"):
        Reviewed(REVIEWER, review=review(), failure=ReviewFailure.UNPARSABLE)


maybe = st.sampled_from([True, False, None])
reviews = st.builds(
    ScientificReview,
    outcome_verdict=st.sampled_from(OutcomeVerdict),
    scientific_validity=st.sampled_from(ScientificValidity),
    recommendation=st.sampled_from(Recommendation),
    confidence=st.floats(0, 1),
    answers_original_question=maybe,
    values_plausible=maybe,
    values_consistent=maybe,
    reasoning_sound=maybe,
    value_mismatches=st.just(()),
)
NAMES = ("a", "b", "c")


def _one_of(name: str) -> st.SearchStrategy[Reconciliation | None]:
    made = [match(name), not_claimed(name), not_recomputed(name), *(mismatch(each, name) for each in MismatchSeverity)]
    return st.sampled_from([None, *made])


examinations = st.builds(
    lambda held, violations, problems, in_range: examined(
        *(each for each in held if each),
        domain_violations=violations,
        problems=problems,
        in_range=in_range,
    ),
    st.tuples(*map(_one_of, NAMES)),
    st.sampled_from([(), (), (violation(),), (violation("sanity_check", "s"),)]),
    st.sampled_from([(), (), (problem(Fault.AGENT),), (problem(Fault.PLATFORM),)]),
    st.integers(0, 3),
)
works = st.builds(
    lambda names, checks, strict: science(*sorted(names), checks=tuple(sorted(checks)), strict=strict),
    st.sets(st.sampled_from(NAMES)),
    st.sets(st.sampled_from([*ALL_CHECKS, "s"])),
    st.booleans(),
)


def _is_forbidden(demands: Science, found: Examination) -> bool:
    """Told apart from the gate's own code: what no review may make pass."""
    ranges, recompute = "value_ranges" in demands.checks, "recompute_statistics" in demands.checks
    ruled_out = any(ranges or each.source == "sanity_check" for each in found.domain_violations)
    critical = any(each.severity is CRITICAL for each in found.reconciliation)
    any_mismatch = any(each.severity is not None for each in found.reconciliation)
    by_name = {each.name: each for each in found.reconciliation}
    matching = [name for name, each in by_name.items() if each.claimed is not None and each.recomputed is not None]
    missing = {each.name for each in demands.statistics} - set(matching) if demands.statistics else not matching
    return ruled_out or (recompute and (critical or (demands.strict and (any_mismatch or bool(missing)))))


@given(works, examinations, reviews)
def test_no_review_whatever_makes_anything_pass_that_arithmetic_forbids(
    demands: Science, found: Examination, words: ScientificReview
) -> None:
    result = conclude(demands, found, Reviewed(REVIEWER, review=words))
    assert not (result.passed and _is_forbidden(demands, found))
    if words.recommendation is REJECT and "peer_review" in demands.checks:
        assert not result.passed


LADDERS = {
    "outcome_verdict": VERDICTS,
    "scientific_validity": VALIDITIES,
    "recommendation": RECOMMENDATIONS,
    "answers_original_question": (False, None, True),
    "values_plausible": (False, None, True),
    "values_consistent": (False, None, True),
    "reasoning_sound": (False, None, True),
    "confidence": (0.0, 0.5, 1.0),
}


@given(works, examinations, reviews, st.sampled_from(sorted(LADDERS)))
def test_a_better_word_in_a_review_never_makes_anything_fail(
    demands: Science, found: Examination, words: ScientificReview, part: str
) -> None:
    rungs = [words.model_copy(update={part: rung}) for rung in LADDERS[part]]
    passed = [conclude(demands, found, Reviewed(REVIEWER, review=each)).passed for each in rungs]
    for lower, higher in pairwise(passed):
        assert not (lower and not higher)


@given(works, examinations, st.one_of(st.none(), reviews))
def test_what_passes_strictly_passes_leniently(
    demands: Science, found: Examination, words: ScientificReview | None
) -> None:
    reviewed = Reviewed(REVIEWER, review=words) if words else None
    strict, lenient = (
        conclude(demands.model_copy(update={"strict": each}), found, reviewed).passed for each in (True, False)
    )
    assert lenient or not strict
    assert (strict is None) is (lenient is None)


@given(works, examinations, reviews)
def test_a_capped_review_concludes_as_the_one_it_came_from(
    demands: Science, found: Examination, words: ScientificReview
) -> None:
    once = conclude(demands, found, Reviewed(REVIEWER, review=words))
    if once.review is not None:
        again = conclude(demands, found, replace(said(), review=once.review))
        assert again.passed is once.passed
        assert again.review == once.review
