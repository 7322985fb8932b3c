"""The demo's first agent against the real engine, offline."""

import pytest

from aex_cli.demo.summarisation import KEY_TERMS, summary_work
from aex_cli.demo.wordsmith import FIRST_DRAFT, Wishes, joined, revised, sentences, unmet_metrics, wishes_of
from aex_models.results import Verdict, VerificationResult
from aex_models.work import WorkSubmission
from aex_outcomes import VerificationEngine
from aex_outcomes.feedback import render_feedback


@pytest.fixture
def work() -> WorkSubmission:
    return summary_work()


async def judged(work: WorkSubmission, summary: str) -> VerificationResult:
    return await VerificationEngine().verify(
        contract_id="ctr_demo",
        work_input=work.input,
        work_output={"text": summary},
        success_criteria=work.success_criteria,
        evaluation=work.evaluation,
        execution_metadata={"duration_ms": 1.0},
    )


def feedback_on(work: WorkSubmission, result: VerificationResult) -> str:
    return render_feedback(result, attempt=1, max_attempts=3, level=work.verification.feedback)


async def test_the_first_draft_is_rejected_and_what_the_feedback_leads_to_passes(work: WorkSubmission) -> None:
    text, criteria = work.input["text"], work.success_criteria
    assert criteria is not None
    first = await judged(work, joined(text, FIRST_DRAFT))
    assert first.verdict is Verdict.REJECTED
    unmet = unmet_metrics(feedback_on(work, first))
    assert unmet == {"rougeL", "rouge2", "contains_keywords", "output_length"}
    second = await judged(work, joined(text, revised(text, FIRST_DRAFT, wishes_of(criteria, unmet))))
    assert second.verdict is Verdict.PASSED
    assert [each.metric for each in second.criterion_results if not each.met] == ["rouge2"]
    assert (str(second.bonus), str(second.penalty)) == ("0.300000", "0.020000")


async def test_no_value_of_the_hidden_reference_is_in_the_feedback(work: WorkSubmission) -> None:
    first = await judged(work, joined(work.input["text"], FIRST_DRAFT))
    told = feedback_on(work, first)
    assert first.metrics["rougeL"] == pytest.approx(0.294, abs=0.001)
    assert "0.29" not in told
    assert "Malthus" not in told


async def test_the_whole_text_is_no_summary(work: WorkSubmission) -> None:
    assert (await judged(work, work.input["text"])).verdict is Verdict.REJECTED


async def test_the_reference_itself_passes_in_full(work: WorkSubmission) -> None:
    assert work.evaluation is not None
    assert isinstance(work.evaluation.reference, str)
    result = await judged(work, work.evaluation.reference)
    assert all(each.met for each in result.criterion_results)


def test_without_complaints_nothing_is_revised(work: WorkSubmission) -> None:
    assert work.success_criteria is not None
    wishes = wishes_of(work.success_criteria, frozenset())
    assert wishes == Wishes()
    assert revised(work.input["text"], (2, 0), wishes) == (0, 2)


def test_a_revision_never_grows_beyond_the_greatest_length(work: WorkSubmission) -> None:
    text = work.input["text"]
    places = revised(text, FIRST_DRAFT, Wishes(("ninety years old",), 2_000, 500))
    assert len(joined(text, places)) <= 500
    assert places != FIRST_DRAFT


def test_the_text_holds_every_term_and_the_lead_does_not(work: WorkSubmission) -> None:
    parts = sentences(work.input["text"])
    assert len(parts) == 9
    assert all(term in work.input["text"] for term in KEY_TERMS)
    assert not all(term in parts[0] for term in KEY_TERMS)
