"""What all works have in common: publish, deliver, read the outcome."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from aex_cli.demo.cast import CONSUMER
from aex_cli.demo.expectations import expect, given, until
from aex_cli.demo.wording import NUMBERS, VERDICT_COLUMNS, verdict_rows
from aex_cli.report import Report
from aex_client import AsyncAexClient, AttemptView, OutcomeView, VerificationView
from aex_models.money import format_amount
from aex_models.work import Work, WorkAnswer, WorkSubmission

_WAIT_S = 20.0


async def publish(consumer: AsyncAexClient, submission: WorkSubmission, secret: str, report: Report) -> WorkAnswer:
    """Publish; tell what it can cost, and what the linter thinks of the criteria."""
    work = await consumer.publish_work(submission)
    count = len(given(work.success_criteria, "what to judge by").criteria)
    report.step("publish", f"{CONSUMER} publishes {work.work_id} with {count} success criteria; {secret} stays secret")
    least, most = work.quote.minimum.total, work.quote.maximum.total
    report.step(
        "quote", f"it can cost {format_amount(least)} to {format_amount(most)} {work.quote.currency}, never more"
    )
    for warning in work.warnings:
        report.step("warning", warning.message)
    return work


async def shown(agent: AsyncAexClient, work_id: str) -> Work:
    """The work as the agent is shown it: input and criteria, and no evaluation data."""
    work = await agent.get_work(work_id)
    expect(work.evaluation is None, f"an agent was shown the evaluation data of {work_id}")
    return work


async def deliver(
    agent: AsyncAexClient,
    contract_id: str,
    output: Any,
    duration_ms: float,
    claimed_values: Mapping[str, Decimal] | None = None,
) -> AttemptView:
    """Post a candidate and wait for its verdict."""
    metadata = {"duration_ms": round(duration_ms, 3)}
    attempt = await agent.submit_output(
        contract_id, output, execution_metadata=metadata, claimed_values=claimed_values, wait_s=_WAIT_S
    )
    if attempt.settled:
        return attempt
    return await until(
        lambda: agent.get_attempt(contract_id, attempt.attempt_id),
        f"the verdict on {attempt.attempt_id}",
        lambda seen: seen.settled,
    )


async def outcome_of(reader: AsyncAexClient, contract_id: str) -> OutcomeView:
    """The outcome of a contract that has come to its end; it is to be a success."""
    outcome = await until(lambda: reader.get_outcome(contract_id), f"the outcome of {contract_id}")
    result = given(outcome.verification_result, f"the verdict in the outcome of {contract_id}")
    expect(result.success, f"the outcome of {contract_id} is no success")
    return outcome


def show_verdict(work: Work, result: VerificationView | None, report: Report) -> None:
    """A row for each criterion, as far as whoever was told may know."""
    criteria = given(work.success_criteria, "what to judge by")
    report.table(VERDICT_COLUMNS, verdict_rows(criteria, given(result, "the result of the verdict")), NUMBERS)
