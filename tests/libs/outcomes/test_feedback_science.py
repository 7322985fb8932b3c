import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_models.examination import DataProblem, GroupSummary, MixedGroups, MixingRule
from aex_models.results import Verdict, VerificationResult
from aex_models.science import GateReason, ReviewQuotes, ScienceResult
from aex_models.statistics import Filter, FilterOp
from aex_models.work import FeedbackLevel
from aex_outcomes.feedback import derive_rejection_code, render_feedback, summarize_rejection
from aex_outcomes.formatting import MAX_BYTES
from tests.libs.outcomes.engine.builders import criteria, criterion, result
from tests.libs.outcomes.engine.examinations import LOST, concluded, mismatch, refuted, review, violation

GATE = "The scientific verification is not passed."


def rejected(*met: bool, science: ScienceResult) -> VerificationResult:
    return result(*met, verdict=Verdict.REJECTED, success=False, science=science)


def feedback(found: VerificationResult, level: FeedbackLevel = FeedbackLevel.CRITERIA) -> str:
    return render_feedback(found, attempt=1, max_attempts=3, level=level)


def lines(found: VerificationResult, level: FeedbackLevel = FeedbackLevel.CRITERIA) -> list[str]:
    return feedback(found, level).splitlines()[2:-1]


def test_a_rejection_by_the_gate_alone_has_a_code_of_its_own() -> None:
    assert feedback(rejected(True, science=refuted())).splitlines() == [
        '<verification_rejected code="science_not_passed" attempt="1" max_attempts="3">',
        f"Summary: {GATE}",
        "- value_mismatch: mean_fitness",
        "- domain_violation: mean_fitness",
        "</verification_rejected>",
    ]


def test_where_criteria_are_not_met_either_both_are_reported_under_their_code() -> None:
    reported = feedback(rejected(True, False, science=refuted())).splitlines()
    assert reported[:3] == [
        '<verification_rejected code="criteria_not_met" attempt="1" max_attempts="3">',
        f"Summary: 1 of 2 criteria not met. {GATE}",
        "- m1: not met",
    ]
    assert reported[3] == "- value_mismatch: mean_fitness"


def test_criteria_that_are_met_as_a_complete_are_not_what_rejected_it() -> None:
    found = rejected(True, False, science=refuted())
    either = criteria(criterion("a"), criterion("b"), aggregation="any")
    assert derive_rejection_code(found, either) == "science_not_passed"
    assert derive_rejection_code(found, criteria(criterion("a"), criterion("b"))) == "criteria_not_met"
    assert derive_rejection_code(rejected(False, science=concluded())) == "criteria_not_met"
    assert derive_rejection_code(None) == "criteria_not_met"


@pytest.mark.parametrize("secret", [False, True])
def test_figures_are_reported_at_full_alone(secret: bool) -> None:
    found = rejected(True, science=refuted(secret=secret))
    assert "0.39" not in feedback(found)
    assert "11.17" not in feedback(found)
    assert lines(found, FeedbackLevel.FULL) == [
        "- value_mismatch: mean_fitness: claimed 11.17, recomputed -0.39 (critical)",
        "- domain_violation: mean_fitness: 11.17, needs -5 to 2 (domain)",
    ]


def test_a_value_that_is_none_is_reported_in_the_violations_words_at_full() -> None:
    invalid = violation("p_value", None, message="not a finite number")
    found = rejected(science=refuted(domain_violations=(invalid,)))
    assert lines(found, FeedbackLevel.FULL)[1] == "- domain_violation: p_value: not a finite number"
    assert "finite" not in feedback(found)


@pytest.mark.parametrize("level", [FeedbackLevel.CRITERIA, FeedbackLevel.FULL])
def test_what_is_wrong_with_the_agents_own_files_is_reported_once_for_each_and_in_words(level: FeedbackLevel) -> None:
    problems = (
        DataProblem(code="not_finite", message="3 cells", name="mean_fitness", artifact="own.csv"),
        DataProblem(code="not_finite", message="4 cells", name="std_fitness", artifact="own.csv"),
        DataProblem(code="wrong_delimiter", message="semicolons; use commas", artifact="<b>.csv"),
        LOST,
    )
    nothing = GateReason(code="nothing_recomputed", message="No claim could be recomputed")
    found = rejected(science=concluded(False, reasons=(nothing,), problems=problems))
    assert lines(found, level) == [
        "- nothing_recomputed: No claim could be recomputed",
        "- own.csv: not_finite (mean_fitness, std_fitness): 3 cells",
        "- &lt;b&gt;.csv: wrong_delimiter: semicolons; use commas",
    ]


@pytest.mark.parametrize("secret", [False, True])
def test_groups_of_the_agents_file_are_reported_and_only_columns_of_the_consumers(secret: bool) -> None:
    groups = (
        GroupSummary(value="<A>", n=709, mean=-0.714, median=-0.7),
        GroupSummary(value="B", n=9, mean=1, median=1),
    )
    where = (Filter(column="condition", op=FilterOp.EQ, value="<A>"),)
    mixed = MixedGroups(
        rule=MixingRule.RANGE, measured="mut_score", column="condition", artifact="a.csv", groups=groups, where=where,
        secret=secret,
    )  # fmt: skip
    reason = GateReason(code="mixed_groups", names=("mean_fitness",), message="Each group's own value")
    problem = DataProblem(code="mixed_groups", message="hush", name="mean_fitness", artifact="a.csv", secret=secret)
    found = rejected(science=concluded(False, reasons=(reason,), mixed_groups=(mixed,), problems=(problem,)))
    first = "- mixed_groups: claim of each group, not of all rows: mean_fitness"
    columns = "- a.csv: mixed_groups: mut_score by condition"
    listed = "&lt;A&gt; (n 709, mean -0.714, median -0.7), B (n 9, mean 1, median 1); one group: condition = &lt;A&gt;"
    assert lines(found, FeedbackLevel.FULL) == [first, f"{columns}: {listed}"]
    assert lines(found) == [first, columns if secret else f"{columns}: {listed}"]
    assert "condition" not in feedback(found, FeedbackLevel.NONE)


def test_words_about_the_consumers_own_data_are_reported_at_full_alone_and_its_own_failures_never() -> None:
    lacks = DataProblem(code="column_missing", message="hush", name="mean_fitness", artifact="raw.csv", secret=True)
    found = rejected(science=concluded(False, problems=(lacks, LOST)))
    assert lines(found) == ["- raw.csv: column_missing (mean_fitness)"]
    assert lines(found, FeedbackLevel.FULL) == ["- raw.csv: column_missing (mean_fitness): hush"]


def test_a_reason_that_names_nothing_is_reported_by_its_message() -> None:
    reason = GateReason(code="review_questionable", message="A peer review did not find it sound")
    bare = GateReason(code="review_rejected")
    assert lines(rejected(science=concluded(False, reasons=(reason, bare)))) == [
        "- review_questionable: A peer review did not find it sound",
        "- review_rejected",
    ]


def test_an_agent_that_claimed_nothing_of_use_is_reported_what_to_claim() -> None:
    could = GateReason(code="nothing_recomputed", names=("mean_fitness", "std_fitness"), message="Claim one of these")
    should = GateReason(code="statistic_not_claimed", names=("hits",), message="The work demands these")
    assert lines(rejected(science=concluded(False, reasons=(could, should)))) == [
        "- nothing_recomputed: claim at least one of: mean_fitness, std_fitness",
        "- statistic_not_claimed: claim each of: hits",
    ]


def shared(quotes: ReviewQuotes, *issues: str) -> VerificationResult:
    words = review(issues=issues, missing_for_conclusion=("a <plot>",), reasoning="hush", recommendation="reject")
    reason = GateReason(code="review_rejected", message="A peer review found it wrong")
    return rejected(science=concluded(False, reasons=(reason,), review=words, review_quotes=quotes))


@pytest.mark.parametrize(
    ("quotes", "expected"),
    [(ReviewQuotes.NEVER, set()), (ReviewQuotes.AT_FULL, {"full"}), (ReviewQuotes.AT_CRITERIA, {"criteria", "full"})],
)
def test_shared_review_is_quoted_escaped_at_its_levels(quotes: ReviewQuotes, expected: set[str]) -> None:
    seen = {level.value: feedback(shared(quotes, "no <control>"), level) for level in FeedbackLevel}
    assert {level for level, text in seen.items() if "- review: no &lt;control&gt;" in text} == expected
    assert {level for level, text in seen.items() if "missing for a conclusion: a &lt;plot&gt;" in text} == expected
    assert not any("hush" in text for text in seen.values())


@given(st.lists(st.text(max_size=700), max_size=20))
def test_quotes_of_a_review_are_at_most_two_kilobytes(issues: list[str]) -> None:
    quoted = [line for line in lines(shared(ReviewQuotes.AT_CRITERIA, *issues)) if line.startswith("- review:")]
    assert len("\n".join(line.removeprefix("- ") for line in quoted).encode()) <= 2_000


@pytest.mark.parametrize("level", list(FeedbackLevel))
def test_nothing_of_a_reviewers_words_is_ever_reported(level: FeedbackLevel) -> None:
    words = review(
        issues=("hush",),
        missing_for_conclusion=("hush",),
        domain_violations=("hush",),
        reasoning="hush",
        recommendation="reject",
    )
    reason = GateReason(code="review_rejected", message="A peer review found it wrong")
    found = rejected(science=concluded(False, reasons=(reason,), review=words))
    assert "hush" not in feedback(found, level)
    assert ("review_rejected" in feedback(found, level)) is (level is not FeedbackLevel.NONE)


def test_a_gate_that_passed_is_not_mentioned_however_much_it_warns() -> None:
    warned = concluded(warnings=(GateReason(code="review_questionable"),))
    assert lines(rejected(False, science=warned)) == ["- m0: not met"]


def test_the_summary_for_events_says_it_too() -> None:
    assert summarize_rejection(rejected(True, science=refuted()), None) == GATE
    assert summarize_rejection(rejected(False, science=refuted()), None) == f"1 of 1 criteria not met. {GATE}"


@pytest.mark.parametrize("level", list(FeedbackLevel))
def test_however_much_is_wrong_the_feedback_stays_small(level: FeedbackLevel) -> None:
    names = tuple(f"{'<' * 40}{number}" for number in range(500))
    science = refuted(
        reasons=tuple(GateReason(code=code, names=names) for code in ("value_mismatch", "domain_violation", "other")),
        value_mismatches=tuple(mismatch(name) for name in names),
        domain_violations=tuple(violation(name) for name in names),
        problems=tuple(DataProblem(code="bad", message="&" * 9_000, artifact=name) for name in names),
    )
    assert len(feedback(rejected(science=science), level).encode()) <= MAX_BYTES
