"""Steps that the demo's works share: publish, award, post a candidate, wait, and print the results."""

import asyncio
import shlex
import shutil
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar

from aex_cli.demo.clients import CONSUMER, FINANCE
from aex_cli.demo.tables import NUMBERS, VERDICT_COLUMNS, build_verdict_rows
from aex_cli.report import Report
from aex_cli.suite.child import Launch
from aex_cli.suite.service_spec import ServiceSpec
from aex_client import AsyncAexClient, AttemptView, NotFound, OutcomeView, VerificationView
from aex_models.contract import Award
from aex_models.money import format_amount
from aex_models.results import Verdict
from aex_models.work import Work, WorkAnswer, WorkSubmission

T = TypeVar("T")
TIMEOUT_S = 30.0
_FIRST_PAUSE_S = 0.02
_LONGEST_PAUSE_S = 0.5


class DemoFailed(Exception):
    """The error for a result of the platform that differs from what the demo expects."""


def expect(condition: bool, message: str) -> None:
    """Raise `DemoFailed` with `message` unless the condition is true."""
    if not condition:
        raise DemoFailed(message)


def require_value(value: T | None, name: str) -> T:
    """Return the value. Raises `DemoFailed` with `name` if it is None."""
    if value is None:
        raise DemoFailed(f"{name} is missing")
    return value


async def poll_until_done(
    read: Callable[[], Awaitable[T]], name: str, is_done: Callable[[T], bool] = bool, within_s: float = TIMEOUT_S
) -> T:
    """Call `read` in growing intervals until `is_done` is true for its result, and return the result.

    `NotFound` counts as not done. Raises `DemoFailed` with `name` after `within_s` seconds.
    """
    loop = asyncio.get_running_loop()
    deadline, pause_s = loop.time() + within_s, _FIRST_PAUSE_S
    while loop.time() < deadline:
        try:
            found = await read()
        except NotFound:
            pass
        else:
            if is_done(found):
                return found
        await asyncio.sleep(pause_s)
        pause_s = min(pause_s * 1.5, _LONGEST_PAUSE_S)
    raise DemoFailed(f"{name} did not appear within {within_s:g} s")


_WAIT_S = 20.0


async def publish_and_show_quote(
    consumer: AsyncAexClient, submission: WorkSubmission, secret: str, report: Report
) -> WorkAnswer:
    """Publish a work, and print its quote and the linter's warnings.

    `secret`: a name for the data that stay secret, for the printed line.
    """
    work = await consumer.publish_work(submission)
    count = len(require_value(work.success_criteria, "the success criteria").criteria)
    report.print_step(
        "publish", f"{CONSUMER} publishes {work.work_id} with {count} success criteria; {secret} stays secret"
    )
    least, most = format_amount(work.quote.minimum.total), format_amount(work.quote.maximum.total)
    report.print_step("quote", f"it can cost {least} to {most} {work.quote.currency}, never more")
    for warning in work.warnings:
        report.print_step("warning", warning.message)
    return work


async def get_work_and_expect_no_evaluation(agent: AsyncAexClient, work_id: str) -> Work:
    """Return a work as an agent reads it. Raises `DemoFailed` if it holds evaluation data."""
    work = await agent.get_work(work_id)
    expect(work.evaluation is None, f"an agent could read the evaluation data of {work_id}")
    return work


async def award_and_show_price(
    consumer: AsyncAexClient, work_id: str, agent_id: str, cpc_rate: str, report: Report
) -> Award:
    """Award a work to an agent, and print the price and the contract's id."""
    award = await consumer.award(work_id, agent_id, cpc_rate)
    price = f"{format_amount(award.cpc_rate)} {award.terms.currency}"
    report.print_step(
        "award", f"{CONSUMER} awards it to {agent_id} at {price} a call: {award.contract_id}, terms frozen"
    )
    return award


async def post_and_expect_verdict(
    agent: AsyncAexClient,
    contract_id: str,
    output: Any,
    duration_ms: float,
    expected: Verdict,
    claimed_values: Mapping[str, Decimal] | None = None,
) -> AttemptView:
    """Post a candidate, wait for its verdict, and return the attempt.

    Raises `DemoFailed` if the verdict is not `expected`.
    """
    metadata = {"duration_ms": round(duration_ms, 3)}
    attempt = await agent.submit_output(
        contract_id, output, execution_metadata=metadata, claimed_values=claimed_values, wait_s=_WAIT_S
    )
    if not attempt.settled:
        attempt = await poll_until_done(
            lambda: agent.get_attempt(contract_id, attempt.attempt_id),
            f"the verdict on {attempt.attempt_id}",
            lambda current: current.settled,
        )
    found = f"{attempt.verdict}: {attempt.feedback or attempt.errors}"
    expect(attempt.verdict is expected, f"{attempt.attempt_id} was not {expected} but {found}")
    return attempt


async def wait_for_successful_outcome(reader: AsyncAexClient, contract_id: str) -> tuple[OutcomeView, VerificationView]:
    """Wait for a contract's outcome; return it with its verification result.

    Raises `DemoFailed` if the outcome is no success.
    """
    outcome = await poll_until_done(lambda: reader.get_outcome(contract_id), f"the outcome of {contract_id}")
    result = require_value(outcome.verification_result, f"the verdict in the outcome of {contract_id}")
    expect(result.success, f"the outcome of {contract_id} is no success")
    return outcome, result


def show_passed_verdict(work: Work, result: VerificationView, report: Report, remark: str = "") -> None:
    """Print that a candidate passed, and its criteria as the consumer sees them; `remark` precedes them."""
    report.print_step("passed", f"{remark}governance: {result.governance.action}; {CONSUMER} sees all:")
    show_criterion_table(work, result, report)


def show_criterion_table(work: Work, result: VerificationView, report: Report) -> None:
    """Print a table with a row for each criterion that the result's reader may see."""
    criteria = require_value(work.success_criteria, "the success criteria")
    report.print_table(VERDICT_COLUMNS, build_verdict_rows(criteria, result), NUMBERS)


_MAX_LINES = 5
_USUAL = ('"level":"info"', '"level":"debug"')


def measure_log_sizes(specs: Sequence[ServiceSpec], launch: Launch) -> dict[Path, int]:
    """Return the current size of each service's log in bytes, by path; 0 for a missing log."""
    logs = [launch.log_path(spec) for spec in specs]
    return {log: log.stat().st_size if log.exists() else 0 for log in logs}


def read_log_excerpts(start_offsets: Mapping[Path, int]) -> str:
    """Return the last lines of each log after its offset in bytes: warnings and errors, if there are any."""
    return "\n".join(f"{log}:\n{_excerpt(log, start)}" for log, start in start_offsets.items() if log.exists())


def _excerpt(log: Path, start: int) -> str:
    lines = log.read_bytes()[start:].decode(errors="replace").splitlines()
    unusual = [line for line in lines if not any(level in line for level in _USUAL)]
    return "\n".join((unusual or lines)[-_MAX_LINES:])


def run_and_measure_ms(action: Callable[[], T]) -> tuple[T, float]:
    """Run the action; return its result and its duration in milliseconds."""
    begin = time.perf_counter()
    result = action()
    return result, (time.perf_counter() - begin) * 1000


def show_next_steps(
    specs: Sequence[ServiceSpec], data_dir: Path, export_line: str | None, contract_id: str, report: Report
) -> None:
    """Print commands that start the suite again on the same data and read the results.

    `export_line`: a shell line to print first, if the storage needs variables. `contract_id`: the settlement to read.
    """
    called = Path(sys.argv[0])  # the command's path, for users without it on their PATH
    aex = shlex.quote(str(called)) if called.name == "aex" and shutil.which("aex") is None else "aex"
    data_option = "" if data_dir == Path(".aex") else f" --data-dir {shlex.quote(str(data_dir))}"
    base = min(spec.port for spec in specs)
    ports = "" if base == 8081 else f" --port-base {base}"
    settlement = next(spec for spec in specs if spec.name == "settlement")
    report.print_heading("Look further")
    if export_line is not None:
        report.print_command("variables", export_line)
    report.print_command("resume", f"{aex} up{data_option}{ports}")
    report.print_command("token", f"{aex} token --role finance --sub {FINANCE}{data_option}")
    bearer = f'"Authorization: Bearer $({aex} token --role finance --sub {FINANCE}{data_option})"'
    report.print_command("curl", f"curl -s -H {bearer} {settlement.url}/v1/settlements/{contract_id}")
    report.print_step("dashboard", f"{settlement.url}/dashboard  signs in with that token")
    for spec in specs:
        report.print_step("docs" if spec is specs[0] else "", f"{spec.url}/docs  {spec.name}")
