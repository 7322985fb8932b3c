from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_models.examination import (
    DataOwner,
    Examination,
    Fault,
    FileColumns,
    MismatchSeverity,
    Reconciliation,
    ValueMismatch,
)
from aex_models.science import (
    DataFile,
    OutcomeVerdict,
    Recommendation,
    ReviewFailure,
    ReviewQuotes,
    Science,
    ScienceResult,
    ScientificReview,
    ScientificValidity,
    ShareReview,
)
from aex_outcomes.science.gate import RECOMMENDATIONS, VALIDITIES, VERDICTS, decide_science_result
from aex_outcomes.science.peer_review_port import Reviewed
from tests.libs.outcomes.science.reviews import (
    ALL_CHECKS,
    examined,
    match,
    mismatch,
    not_claimed,
    not_recomputed,
    problem,
    review,
    science,
    silent,
    statement,
    violation,
)
from tests.parts.reviewing import REVIEWER

ARITHMETIC = ("value_ranges", "recompute_statistics")
MINOR, MAJOR, CRITICAL = MismatchSeverity.MINOR, MismatchSeverity.MAJOR, MismatchSeverity.CRITICAL
WRONG, NO_ANSWER, PARTIAL, ANSWERS = VERDICTS
INVALID, QUESTIONABLE, VALID = VALIDITIES
REJECT, REVISE, ACCEPT = RECOMMENDATIONS
OTHER = "other"
OWN_FILE = FileColumns(name="own.csv", owner=DataOwner.CONSUMER, columns=("x",))
LOST = problem(Fault.PLATFORM)
GOOD = examined(match())
RULED_OUT = examined(match(), domain_violations=(violation(),))


@pytest.mark.parametrize(
    ("demands", "found", "quotes"),
    [
        ({}, {}, ReviewQuotes.NEVER),
        ({"share_review": ShareReview.ISSUES}, {}, ReviewQuotes.AT_CRITERIA),
        ({"share_review": ShareReview.ISSUES, "reviewer_sees_expected": True}, {}, ReviewQuotes.AT_FULL),
        ({"share_review": ShareReview.ISSUES, "data": (DataFile(name="own.csv"),)}, {}, ReviewQuotes.AT_FULL),
        ({"share_review": ShareReview.ISSUES}, {"files": (OWN_FILE,)}, ReviewQuotes.AT_FULL),
    ],
)
def test_review_of_consumers_secrets_is_quoted_at_full_alone(
    demands: dict[str, Any], found: dict[str, Any], quotes: ReviewQuotes
) -> None:
    result = decide_science_result(science(**demands), examined(match(), **found), statement())
    assert result.review_quotes is quotes


def codes(result: ScienceResult) -> list[str]:
    return [each.code for each in result.reasons]


@pytest.mark.parametrize(
    ("demands", "found", "passed", "reasons"),
    [
        (science("mean_fitness"), examined(match()), True, []),
        (science(), examined(match()), True, []),
        (science(), examined(match(), not_recomputed(OTHER)), True, []),
        (science(), examined(), False, ["nothing_recomputed"]),
        (science(), examined(not_recomputed()), False, ["nothing_recomputed"]),
        (science(), examined(not_claimed()), False, ["nothing_recomputed"]),
        (science("mean_fitness", OTHER), examined(match()), False, ["statistic_not_claimed"]),
        (science("mean_fitness", OTHER), examined(match(), not_claimed(OTHER)), False, ["statistic_not_claimed"]),
        (science("mean_fitness", OTHER), examined(match(), not_recomputed(OTHER)), False, ["statistic_not_recomputed"]),
        (science("mean_fitness"), examined(mismatch(MINOR)), False, ["value_mismatch"]),
        (science(), examined(match(), mismatch(MAJOR, OTHER)), False, ["value_mismatch"]),
        (science(), examined(match(), domain_violations=(violation(),)), False, ["domain_violation"]),
        (science(), examined(match(), problems=(problem(Fault.AGENT),)), True, []),
        (science(), examined(problems=(problem(Fault.AGENT),)), False, ["nothing_recomputed"]),
        (science(), examined(problems=(LOST,)), None, ["data_unavailable"]),
        (science(), examined(match(), problems=(LOST,)), None, ["data_unavailable"]),
        (science(), examined(mismatch(), problems=(LOST,)), None, ["data_unavailable", "value_mismatch"]),
    ],
)
@pytest.mark.parametrize("strict", [True, False])
def test_without_a_reviewer_arithmetic_decides_whether_strict_or_not(
    demands: Science, found: Examination, passed: bool | None, reasons: list[str], strict: bool
) -> None:
    for checks in (ARITHMETIC, ALL_CHECKS):
        result = decide_science_result(demands.model_copy(update={"checks": checks, "strict": strict}), found, None)
        assert result.passed is passed
        assert codes(result) == reasons
        assert result.warnings == ()
        assert result.review is None
        assert result.reviewer is None


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
    result = decide_science_result(science(checks=checks), found, None)
    assert result.passed is passed
    assert bool(result.value_mismatches) is ("recompute_statistics" in checks)
    assert bool(result.domain_violations) is ("value_ranges" in checks)


def test_failed_sanity_check_and_lost_data_count_where_demanded() -> None:
    found = examined(match(), domain_violations=(violation("sanity_check", "fitness_mean_near_zero"),))
    result = decide_science_result(science(checks=("fitness_mean_near_zero",)), found, None)
    assert (result.passed, result.values_plausible) == (False, False)
    lost = examined(problems=(LOST,))
    assert decide_science_result(science(checks=("value_ranges",)), lost, None).passed is True
    for check in ("fitness_mean_near_zero", "recompute_statistics", "peer_review"):
        result = decide_science_result(science(checks=("value_ranges", check)), lost, None)
        assert result.passed is None
        assert codes(result) == ["data_unavailable"]


def test_values_are_plausible_where_one_was_checked_and_none_violates() -> None:
    assert decide_science_result(science(), examined(in_range=0), None).values_plausible is None
    assert decide_science_result(science(), examined(in_range=2), None).values_plausible is True
    assert decide_science_result(science(), RULED_OUT, None).values_plausible is False


@pytest.mark.parametrize(
    ("names", "found", "consistent"),
    [
        ((), examined(), None),
        ((), examined(not_recomputed()), None),
        ((), examined(match()), True),
        ((), examined(match(), not_recomputed(OTHER)), True),
        ((), examined(match(), mismatch(name=OTHER)), False),
        (("mean_fitness",), examined(match()), True),
        (("mean_fitness",), examined(not_recomputed()), None),
        (("mean_fitness",), examined(not_claimed()), False),
        (("mean_fitness", OTHER), examined(match()), False),
        (("mean_fitness", OTHER), examined(match(), not_recomputed(OTHER)), False),
        (("mean_fitness", OTHER), examined(match(), mismatch(MINOR, OTHER)), False),
        (("mean_fitness", OTHER), examined(match(), not_recomputed(OTHER), problems=(LOST,)), None),
    ],
)
def test_values_are_consistent_where_all_that_is_demanded_matches(
    names: tuple[str, ...], found: Examination, consistent: bool | None
) -> None:
    assert decide_science_result(science(*names), found, None).values_consistent is consistent


@pytest.mark.parametrize(
    ("demands", "found", "code", "names", "message"),
    [
        (science(), examined(not_claimed("std")), "nothing_recomputed", ("std",), "claim at least one"),
        (science("mean_fitness", OTHER), examined(match()), "statistic_not_claimed", (OTHER,), "claim each"),
        (science(), examined(not_recomputed()), "nothing_recomputed", (), "column of numbers"),
    ],
)
def test_reason_names_statistics_without_values(
    demands: Science, found: Examination, code: str, names: tuple[str, ...], message: str
) -> None:
    [reason] = decide_science_result(demands, found, None).reasons
    assert (reason.code, reason.names) == (code, names)
    assert message in reason.message
    assert "0.39" not in reason.model_dump_json()


def test_mismatch_contains_both_numbers_or_is_critical() -> None:
    secret = mismatch().model_copy(update={"secret": True})
    [found] = decide_science_result(science(), examined(secret), None).value_mismatches
    assert (found.name, found.claimed, found.actual, found.severity) == ("mean_fitness", 11.17, -0.39, CRITICAL)
    assert (found.relative_error, found.secret) == (29.6, True)
    invalid = mismatch().model_copy(update={"claimed": None, "severity": None})
    result = decide_science_result(science(), examined(invalid), statement())
    assert result.passed is False
    assert codes(result) == ["value_mismatch"]
    assert result.review is not None
    assert result.review.outcome_verdict is WRONG


@pytest.mark.parametrize(
    ("found", "words", "strict", "lenient", "reasons"),
    [
        (GOOD, (ANSWERS, VALID, ACCEPT), True, True, []),
        (GOOD, (ANSWERS, VALID, REVISE), True, True, []),
        (GOOD, (ANSWERS, VALID, REJECT), False, False, ["review_rejected"]),
        (GOOD, (ANSWERS, QUESTIONABLE, REVISE), False, True, ["review_questionable"]),
        (GOOD, (ANSWERS, INVALID, ACCEPT), False, False, ["review_rejected"]),
        (GOOD, (PARTIAL, VALID, ACCEPT), False, True, ["review_questionable"]),
        (GOOD, (NO_ANSWER, VALID, ACCEPT), False, True, ["review_questionable"]),
        (GOOD, (WRONG, VALID, ACCEPT), False, False, ["review_rejected"]),
        (examined(mismatch(MINOR)), (ANSWERS, VALID, ACCEPT), False, True, ["value_mismatch"]),
        (examined(mismatch(CRITICAL)), (ANSWERS, VALID, ACCEPT), False, False, ["value_mismatch"]),
        (examined(mismatch(MINOR)), (PARTIAL, VALID, ACCEPT), False, True, ["value_mismatch", "review_questionable"]),
        (RULED_OUT, (ANSWERS, VALID, ACCEPT), False, False, ["domain_violation"]),
        (examined(), (ANSWERS, VALID, ACCEPT), False, True, ["nothing_recomputed"]),
    ],
)
def test_with_a_reviewer_the_capped_review_decides(
    found: Examination, words: tuple[Any, ...], strict: bool, lenient: bool, reasons: list[str]
) -> None:
    for is_strict, passed in ((True, strict), (False, lenient)):
        result = decide_science_result(science(strict=is_strict), found, statement(*words))
        assert result.passed is passed
        report, silent_ones = (result.warnings, result.reasons) if passed else (result.reasons, result.warnings)
        assert [each.code for each in report] == reasons
        assert silent_ones == ()
        assert result.reviewer == REVIEWER


def test_an_enthusiastic_review_of_a_critical_mismatch_is_stored_as_arithmetic_allows_it() -> None:
    result = decide_science_result(
        science(strict=False), examined(mismatch(), domain_violations=(violation(),)), statement()
    )
    kept = result.review
    assert kept is not None
    assert (kept.outcome_verdict, kept.scientific_validity, kept.recommendation) == (WRONG, INVALID, REJECT)
    assert not any((kept.answers_original_question, kept.values_plausible, kept.values_consistent))
    assert (kept.value_mismatches, kept.domain_violations) == (result.value_mismatches, ("11.17 is above 2",))
    unclaimed = decide_science_result(science("mean_fitness", OTHER), GOOD, statement()).review
    assert unclaimed is not None
    assert (unclaimed.outcome_verdict, unclaimed.scientific_validity) == (ANSWERS, QUESTIONABLE)
    assert unclaimed.recommendation is REVISE


def test_review_lowers_unknown_arithmetic_and_its_own_mismatches_are_secret() -> None:
    nothing, own = examined(in_range=0), ValueMismatch(claimed=1, actual=2, severity=MAJOR)
    trusting = decide_science_result(science(), nothing, statement(value_mismatches=(own,))).review
    doubting = decide_science_result(
        science(), nothing, statement(values_plausible=False, values_consistent=False)
    ).review
    assert trusting is not None
    assert doubting is not None
    assert [each.secret for each in trusting.value_mismatches] == [True]
    assert (trusting.values_plausible, trusting.values_consistent) == (None, None)
    assert (doubting.values_plausible, doubting.values_consistent) == (False, False)


@pytest.mark.parametrize("failure", list(ReviewFailure))
@pytest.mark.parametrize("found", [GOOD, examined(mismatch()), examined()])
def test_missing_review_makes_gate_indeterminate(failure: ReviewFailure, found: Examination) -> None:
    result = decide_science_result(science(), found, silent(failure))
    assert result.passed is None
    assert codes(result)[0] == failure.value
    assert result.review_failure is failure
    assert ("value_mismatch" in codes(result)) is bool(result.value_mismatches)


def test_demanded_review_decides_and_another_changes_nothing() -> None:
    undemanded = decide_science_result(science(checks=ARITHMETIC), GOOD, silent(ReviewFailure.UNPARSABLE))
    assert (undemanded.passed, undemanded.review_failure) == (True, None)
    assert decide_science_result(science(checks=("peer_review",)), examined(), None).passed is None
    assert decide_science_result(science(checks=("peer_review",)), examined(), statement()).passed is True


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
        *(each for each in held if each), domain_violations=violations, problems=problems, in_range=in_range
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
    result = decide_science_result(demands, found, Reviewed(REVIEWER, review=words))
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
    passed = [decide_science_result(demands, found, Reviewed(REVIEWER, review=each)).passed for each in rungs]
    for lower, higher in pairwise(passed):
        assert not (lower and not higher)


@given(works, examinations, st.one_of(st.none(), reviews))
def test_what_passes_strictly_passes_leniently(
    demands: Science, found: Examination, words: ScientificReview | None
) -> None:
    reviewed = Reviewed(REVIEWER, review=words) if words else None
    strict, lenient = (
        decide_science_result(demands.model_copy(update={"strict": each}), found, reviewed).passed
        for each in (True, False)
    )
    assert lenient or not strict
    assert (strict is None) is (lenient is None)
