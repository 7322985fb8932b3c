"""Work 4 of the demo: an agent's program runs against hidden tests, first wrong, then right."""

from typing import Any

from aex_cli.demo import steps
from aex_cli.demo.clients import CODER, CONSUMER, DemoClients
from aex_cli.examples import FOLDER, read_example_work
from aex_cli.offline.documents import read_document
from aex_cli.report import Report
from aex_client import OutcomeView
from aex_models.results import Verdict
from aex_models.work import Work, WorkStatus
from aex_outcomes.confinement.seccomp import has_filters

NEEDS_LINUX = "hidden tests need Linux on x86_64 or aarch64: this work is left out"


async def run_program_work(clients: DemoClients, report: Report) -> OutcomeView | None:
    """Run the demo's fourth work, a program; print its steps and return its outcome.

    Returns None on a system where hidden tests cannot run. Raises `DemoFailed` if a result differs from the expected
    one.
    """
    submission = read_example_work("durations")
    report.print_heading(f"Work 4: {submission.title}")
    if not has_filters():
        report.print_step("skipped", NEEDS_LINUX)
        return None
    published = await steps.publish_and_show_quote(
        clients.consumer, submission, "the file of tests with its reference", report
    )
    await steps.poll_until_done(
        lambda: clients.consumer.get_work(published.work_id), "the trial of the hidden tests", _is_open
    )
    report.print_step("tried", "the tests pass on the reference, twice, and none passes without a program")
    award = await steps.award_and_show_price(clients.consumer, published.work_id, CODER, "0.50", report)
    work = await steps.get_work_and_expect_no_evaluation(clients.coder, published.work_id)

    async def post(file: str, description: str, expected: Verdict) -> str | None:
        program, duration_ms = steps.run_and_measure_ms(lambda: _read_program(file))
        report.print_step("candidate", f"{CODER} posts solution.py, {description}")
        attempt = await steps.post_and_expect_verdict(clients.coder, award.contract_id, program, duration_ms, expected)
        return attempt.feedback

    feedback = await post("first_program.json", "which reads a single unit", Verdict.REJECTED)
    report.print_step("rejected", f"each test runs in a process of its own; {CODER} reads how many passed:")
    report.print_block(steps.require_value(feedback, "the feedback on the first program"))
    await post("revision.json", "which reads all units", Verdict.PASSED)
    outcome, result = await steps.wait_for_successful_outcome(clients.consumer, award.contract_id)
    steps.show_passed_verdict(work, result, report)
    steps.expect("tests_all_passed" in result.details, f"{CONSUMER} cannot read the results of the single tests")
    return outcome


def _is_open(work: Work) -> bool:
    steps.expect(work.status is not WorkStatus.REFUSED, "the hidden tests were refused")
    return work.status is WorkStatus.OPEN


def _read_program(file: str) -> Any:
    return read_document("--output", str(FOLDER / "durations" / file)).value
