"""Work 1, told: a first draft that is too poor, feedback, a revision that passes."""

from aex_cli.demo.cast import CONSUMER, WORDSMITH, Cast
from aex_cli.demo.delivery import Stopwatch, deliver, outcome_of, publish, show_verdict
from aex_cli.demo.expectations import expect
from aex_cli.demo.report import Report
from aex_cli.demo.summarisation import CPC_RATE, summary_work
from aex_cli.demo.wordsmith import FIRST_DRAFT, joined, revised, unmet_metrics, wishes_of
from aex_client import AsyncAexClient, AttemptView, OutcomeView
from aex_models.money import format_amount
from aex_models.results import Verdict
from aex_models.work import Work, WorkAnswer


async def tell_summary(cast: Cast, report: Report) -> OutcomeView:
    """The chapter; the contract's outcome. Raises `NotAsTold`."""
    submission = summary_work()
    report.chapter(f"Work 1: {submission.title}")
    work = await publish(cast.consumer, submission, "the reference summary stays secret", report)
    award = await cast.consumer.award(work.work_id, WORDSMITH, CPC_RATE)
    price = f"{format_amount(award.cpc_rate)} {award.terms.currency}"
    report.step("award", f"{CONSUMER} awards it to {WORDSMITH} at {price} a call: {award.contract_id}, all terms frozen")
    contract_id = award.contract_id
    seen = await _read(cast.wordsmith, work, report)
    feedback = await _first_draft(cast.wordsmith, contract_id, seen, work, report)
    await _revision(cast.wordsmith, contract_id, seen, feedback, report)
    outcome = await outcome_of(cast.consumer, contract_id)
    expect(outcome.verification_result is not None and outcome.verification_result.success, "the outcome is no success")
    show_verdict(work, outcome, report)
    return outcome


async def _read(agent: AsyncAexClient, work: WorkAnswer, report: Report) -> Work:
    seen = await agent.get_work(work.work_id)
    expect(seen.evaluation is None, "the agent was shown evaluation data")
    text = seen.input["text"]
    report.step("read", f"{WORDSMITH} is shown the text ({len(text):,} characters) and the criteria, not the reference")
    return seen


async def _first_draft(
    agent: AsyncAexClient, contract_id: str, seen: Work, work: WorkAnswer, report: Report
) -> str:
    """The feedback on a draft that is too poor."""
    attempt = await _deliver(agent, contract_id, seen, FIRST_DRAFT, "the lead sentence", report)
    expect(attempt.verdict is Verdict.REJECTED, f"the first draft was not rejected but {attempt.verdict}")
    expect(attempt.feedback is not None, "the rejection came without feedback")
    report.step("rejected", f"as {WORDSMITH} sees it; what is measured against the reference stays hidden:")
    show_verdict(work, attempt, report)
    report.step("feedback", f"and two of {seen.verification.max_attempts} attempts are left:")
    report.block(attempt.feedback or "")
    return attempt.feedback or ""


async def _revision(agent: AsyncAexClient, contract_id: str, seen: Work, feedback: str, report: Report) -> None:
    """What the feedback leads to: the criteria that it names tell what is missing."""
    expect(seen.success_criteria is not None, "the agent was not shown the criteria")
    wishes = wishes_of(seen.success_criteria, unmet_metrics(feedback)) if seen.success_criteria else None
    stopwatch = Stopwatch()
    with stopwatch.running():
        places = revised(seen.input["text"], FIRST_DRAFT, wishes)
    attempt = await _deliver(agent, contract_id, seen, places, "revised by the feedback", report)
    expect(attempt.verdict is Verdict.PASSED, f"the revision did not pass: {attempt.feedback}")
    report.step("passed", "judged by criteria and governance, final; as the consumer sees it:")
