"""Work 1, told: a first draft that is too poor, feedback, a revision that passes."""

from collections.abc import Callable

from aex_cli.demo.cast import CONSUMER, WORDSMITH, Cast
from aex_cli.demo.delivery import deliver, outcome_of, publish, show_verdict, shown
from aex_cli.demo.expectations import expect, given
from aex_cli.demo.summarisation import CPC_RATE, summary_work
from aex_cli.demo.timing import timed
from aex_cli.demo.wordsmith import FIRST_DRAFT, joined, revised, unmet_metrics, wishes_of
from aex_cli.report import Report
from aex_client import AsyncAexClient, AttemptView, OutcomeView
from aex_models.money import format_amount
from aex_models.results import Verdict
from aex_models.work import Work


async def tell_summary(cast: Cast, report: Report) -> OutcomeView:
    """The chapter; the contract's outcome. Raises `NotAsTold`."""
    submission = summary_work()
    report.chapter(f"Work 1: {submission.title}")
    published = await publish(cast.consumer, submission, "the reference summary", report)
    award = await cast.consumer.award(published.work_id, WORDSMITH, CPC_RATE)
    price = f"{format_amount(award.cpc_rate)} {award.terms.currency}"
    report.step("award", f"{CONSUMER} awards it to {WORDSMITH} at {price} a call: {award.contract_id}, terms frozen")
    work = await shown(cast.wordsmith, published.work_id)
    length = len(work.input["text"])
    report.step("read", f"{WORDSMITH} is shown the text ({length:,} characters) and the criteria, not the reference")
    feedback = await _rejected(cast.wordsmith, award.contract_id, work, report)
    await _passed(cast.wordsmith, award.contract_id, work, feedback, report)
    outcome = await outcome_of(cast.consumer, award.contract_id)
    result = given(outcome.verification_result, "the result of the verdict")
    count = f"attempt {outcome.attempts_used} of {work.verification.max_attempts}"
    report.step("passed", f"{count}; governance says {result.governance.action}; {CONSUMER} sees all:")
    show_verdict(work, result, report)
    return outcome


async def _rejected(agent: AsyncAexClient, contract_id: str, work: Work, report: Report) -> str:
    """The feedback on a first draft, which is too poor."""
    attempt = await _post(agent, contract_id, work, "the lead sentence", lambda: FIRST_DRAFT, report)
    expect(attempt.verdict is Verdict.REJECTED, f"the first draft was not rejected but {attempt.verdict}")
    report.step(
        "rejected", f"attempt 1 of {work.verification.max_attempts}, nothing is owed yet; as {WORDSMITH} may see it:"
    )
    show_verdict(work, attempt.result, report)
    feedback = given(attempt.feedback, "the feedback on the first draft")
    report.step("feedback", f"what {WORDSMITH} is told:")
    report.block(feedback)
    return feedback


async def _passed(agent: AsyncAexClient, contract_id: str, work: Work, feedback: str, report: Report) -> None:
    """A revision: for what the feedback names, the open criteria tell what is missing."""
    criteria = given(work.success_criteria, "what to judge by")

    def revise() -> tuple[int, ...]:
        return revised(work.input["text"], FIRST_DRAFT, wishes_of(criteria, unmet_metrics(feedback)))

    attempt = await _post(agent, contract_id, work, "a revision by the feedback", revise, report)
    expect(
        attempt.verdict is Verdict.PASSED, f"the revision did not pass but was {attempt.verdict}: {attempt.feedback}"
    )


async def _post(
    agent: AsyncAexClient,
    contract_id: str,
    work: Work,
    what: str,
    choose: Callable[[], tuple[int, ...]],
    report: Report,
) -> AttemptView:
    summary, duration_ms = timed(lambda: joined(work.input["text"], choose()))
    report.step("candidate", f"{WORDSMITH} posts {what}: {len(summary)} characters, made in {duration_ms:.1f} ms")
    return await deliver(agent, contract_id, {"text": summary}, duration_ms)
