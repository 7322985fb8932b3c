"""Work 3, told: a claim that the consumer's own data do not bear out is caught, the honest one is paid."""

from decimal import Decimal

from aex_cli.demo.cast import ANALYST, CONSUMER, Cast
from aex_cli.demo.delivery import deliver, outcome_of, publish, show_verdict, shown
from aex_cli.demo.expectations import expect, given
from aex_cli.demo.fitness import ABSURD, DOMAIN, as_csv, fitness_work, honest_mean, measured, scores_of
from aex_cli.demo.timing import timed
from aex_cli.report import Report
from aex_client import AttemptView, OutcomeView, Service
from aex_models.money import format_amount
from aex_models.results import Verdict

_CPC_RATE = "0.40"


async def tell_fitness(cast: Cast, report: Report) -> OutcomeView:
    """The chapter; the contract's outcome. Raises `NotAsTold`."""
    report.chapter("Work 3: Mean fitness of a deep mutational scan")
    table = as_csv(measured())
    data = await cast.consumer.upload_artifact(table, service=Service.WORK_PUBLISHER)
    report.step("upload", f"{CONSUMER} uploads its raw data, {len(table):,} bytes: claims are held against them")
    published = await publish(cast.consumer, fitness_work(data.sha256, table.decode()), "the data's digest", report)
    award = await cast.consumer.award(published.work_id, ANALYST, _CPC_RATE)
    price = f"{format_amount(award.cpc_rate)} {award.terms.currency}"
    report.step("award", f"{CONSUMER} awards it to {ANALYST} at {price} a call: {award.contract_id}, terms frozen")
    work = await shown(cast.analyst, published.work_id)
    claim, duration_ms = timed(lambda: ABSURD)
    attempt = await _claim(cast, award.contract_id, claim, duration_ms, "read off a plot of something else", report)
    expect(attempt.verdict is Verdict.REJECTED, f"a claim of {ABSURD} was not rejected but {attempt.verdict}")
    await _tell_what_was_found(cast, attempt, report)
    mean, duration_ms = timed(lambda: honest_mean(scores_of(work.input["table"])))
    attempt = await _claim(cast, award.contract_id, mean, duration_ms, "computed from the table", report)
    expect(attempt.verdict is Verdict.PASSED, f"a claim of {mean} did not pass but was {attempt.verdict}")
    outcome = await outcome_of(cast.consumer, award.contract_id)
    result = given(outcome.verification_result, "the result of the verdict")
    report.step("passed", f"governance says {result.governance.action}; {CONSUMER} sees all:")
    show_verdict(work, result, report)
    return outcome


async def _claim(
    cast: Cast, contract_id: str, mean: Decimal, duration_ms: float, how: str, report: Report
) -> AttemptView:
    report.step("candidate", f"{ANALYST} claims mean_fitness = {mean}, {how}")
    output = {"text": f"Single mutations change fitness by {mean} on average."}
    return await deliver(cast.analyst, contract_id, output, duration_ms, {"mean_fitness": mean})


async def _tell_what_was_found(cast: Cast, attempt: AttemptView, report: Report) -> None:
    """As an operator reads it: the agent is told which value is wrong, and not what the consumer's data say."""
    seen = await cast.operator.get_attempt(attempt.contract_id, attempt.attempt_id)
    found = given(given(seen.result, "the result of the absurd claim").science, "what was found of the absurd claim")
    expect(len(found.value_mismatches) == 1, "the absurd claim was not found to differ from the data")
    expect(len(found.domain_violations) == 1, "the absurd claim was not found to be impossible")
    [mismatch], [violation] = found.value_mismatches, found.domain_violations
    actual, most = given(mismatch.actual, "what the data say"), given(violation.max, "the most that is possible")
    report.step("rejected", f"the data say {actual:.2f}: a {mismatch.severity} mismatch; {DOMAIN} ends at {most:g}")
    report.step("feedback", f"what {ANALYST} is told, with no figure of the data:")
    report.block(given(attempt.feedback, "the feedback on the absurd claim"))
