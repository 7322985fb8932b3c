"""What both works have in common: publish, deliver, read the outcome."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from aex_cli.demo.cast import CONSUMER
from aex_cli.demo.expectations import until
from aex_cli.demo.report import Report
from aex_cli.demo.wording import NUMBERS, VERDICT_COLUMNS, verdict_rows
from aex_client import AsyncAexClient, AttemptView, NotFound, OutcomeView
from aex_models.money import format_amount
from aex_models.work import WorkAnswer, WorkSubmission

_WAIT_S = 20.0


class Stopwatch:
    """An agent's own time: what it reports as `duration_ms` is measured."""

    def __init__(self) -> None:
        self.ms = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Add the time of the block."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.ms += (time.perf_counter() - begin) * 1000


async def publish(consumer: AsyncAexClient, submission: WorkSubmission, secret: str, report: Report) -> WorkAnswer:
    """Publish; tell what it can cost, and what the linter thinks of the criteria."""
    work = await consumer.publish_work(submission)
    criteria = work.success_criteria.criteria if work.success_criteria else ()
    report.step("publish", f"{CONSUMER} publishes {work.work_id} with {len(criteria)} success criteria; {secret}")
    least, most = work.quote.minimum.total, work.quote.maximum.total
    report.step("quote", f"it will cost {format_amount(least)} to {format_amount(most)} {work.quote.currency}, no more")
    for warning in work.warnings:
        report.step("warning", f"{warning.message}. {warning.suggestion}.")
    return work


async def deliver(agent: AsyncAexClient, contract_id: str, output: Any, stopwatch: Stopwatch) -> AttemptView:
    """Post a candidate and wait for its verdict."""
    metadata = {"duration_ms": round(stopwatch.ms, 3)}
    posted = await agent.submit_output(contract_id, output, execution_metadata=metadata, wait_s=_WAIT_S)

    async def judged() -> AttemptView | None:
        seen = posted if posted.settled else await agent.get_attempt(contract_id, posted.attempt_id)
        return seen if seen.settled else None

    return await until(judged, f"the verdict on {posted.attempt_id}")


async def outcome_of(reader: AsyncAexClient, contract_id: str) -> OutcomeView:
    """The outcome of a contract that has come to its end."""

    async def look() -> OutcomeView | None:
        try:
            return await reader.get_outcome(contract_id)
        except NotFound:
            return None

    return await until(look, f"the outcome of {contract_id}")


def show_verdict(work: WorkAnswer, told: AttemptView | OutcomeView, report: Report) -> None:
    """A row for each criterion, as far as whoever was told may know."""
    result = told.result if isinstance(told, AttemptView) else told.verification_result
    if work.success_criteria is not None and result is not None:
        report.table(VERDICT_COLUMNS, verdict_rows(work.success_criteria, result), NUMBERS)
