"""Work 3 of the demo: a false claim about the consumer's data is rejected, a true one is paid.

The claim is the mean fitness of a deep mutational scan.
"""

import csv
import io
import random
from collections.abc import Callable
from decimal import Decimal
from statistics import fmean

from aex_cli.demo import steps
from aex_cli.demo.clients import ANALYST, CONSUMER, DemoClients
from aex_cli.report import Report
from aex_client import AttemptView, OutcomeView, Service
from aex_models.results import Verdict
from aex_models.work import WorkSubmission

_TRUE = {"metric_type": "boolean", "comparison": "eq", "threshold": True}
DOMAIN = "bioinformatics/DMS"
IMPLAUSIBLE_MEAN = Decimal("11.17")
"""A false mean fitness. The data give about -0.4, and the domain ends at 2."""


def generate_fitness_csv() -> bytes:
    """Return the consumer's data as a CSV file: a score for each of 400 mutants, equal in every demo."""
    dice = random.Random(5)  # noqa: S311 not a secret
    scores = (round(max(-4.9, min(1.9, dice.gauss(-0.4, 0.7))), 3) for _ in range(400))
    rows = (f"M{position}A,{score}" for position, score in enumerate(scores, start=1))
    return "\n".join(["mutant,mut_score", *rows, ""]).encode()


def compute_mean_claim(csv_table: str) -> Decimal:
    """Return the mean of the table's scores with two decimals, as an agent claims it."""
    return Decimal(f"{fmean(float(row['mut_score']) for row in csv.DictReader(io.StringIO(csv_table))):.2f}")


def build_fitness_work(data_digest: str, csv_table: str) -> WorkSubmission:
    """Return the consumer's work, which requires a plausible claim that matches the consumer's data.

    `data_digest`: the SHA-256 of the uploaded data. `csv_table`: the data as input for the agent.
    """
    return WorkSubmission.model_validate(
        {
            "title": "Mean fitness of a deep mutational scan",
            "domain": DOMAIN,
            "input": {"table": csv_table},
            "science": {
                "question": "How do single mutations change fitness on average?",
                "statistics": [{"name": "mean_fitness", "stat": "mean", "column": "mut_score"}],
                "data": [{"name": "scores.csv", "sha256": data_digest}],
            },
            "success_criteria": {
                "criteria": [
                    {"metric": "values_plausible", **_TRUE, "penalty": "0.05"},
                    {"metric": "values_consistent", **_TRUE, "bonus": "0.30", "penalty": "0.05"},
                ]
            },
            "budget": {"max_cpc": "0.40", "max_cpa_total": "0.30", "max_penalty_total": "0.10"},
            "verification": {"max_attempts": 2},
        }
    )


async def run_fitness_work(clients: DemoClients, report: Report) -> OutcomeView:
    """Run the demo's third work, a scientific claim; print its steps and return its outcome.

    Raises `DemoFailed` if a result differs from the expected one.
    """
    report.print_heading("Work 3: Mean fitness of a deep mutational scan")
    table = generate_fitness_csv()
    data = await clients.consumer.upload_artifact(table, service=Service.WORK_PUBLISHER)
    report.print_step("upload", f"{CONSUMER} uploads its raw data, {len(table):,} bytes, to compare claims with")
    submission = build_fitness_work(data.sha256, table.decode())
    published = await steps.publish_and_show_quote(clients.consumer, submission, "the data's digest", report)
    award = await steps.award_and_show_price(clients.consumer, published.work_id, ANALYST, "0.40", report)
    work = await steps.get_work_and_expect_no_evaluation(clients.analyst, published.work_id)

    async def claim(compute: Callable[[], Decimal], method: str, expected: Verdict) -> AttemptView:
        mean, duration_ms = steps.run_and_measure_ms(compute)
        report.print_step("candidate", f"{ANALYST} claims mean_fitness = {mean}, {method}")
        output = {"text": f"Single mutations change fitness by {mean} on average."}
        claims = {"mean_fitness": mean}
        return await steps.post_and_expect_verdict(
            clients.analyst, award.contract_id, output, duration_ms, expected, claims
        )

    rejected = await claim(lambda: IMPLAUSIBLE_MEAN, "read off a plot of other data", Verdict.REJECTED)
    await _show_rejection(clients, rejected, report)
    await claim(lambda: compute_mean_claim(work.input["table"]), "computed from the table", Verdict.PASSED)
    outcome, result = await steps.wait_for_successful_outcome(clients.consumer, award.contract_id)
    steps.show_passed_verdict(work, result, report)
    return outcome


async def _show_rejection(clients: DemoClients, attempt: AttemptView, report: Report) -> None:
    """Print the rejection as an operator sees it, and the agent's feedback, which shows no data."""
    visible = await clients.operator.get_attempt(attempt.contract_id, attempt.attempt_id)
    result = steps.require_value(visible.result, "the result of the implausible claim")
    found = steps.require_value(result.science, "the science result of the implausible claim")
    steps.expect(len(found.value_mismatches) == 1, "the implausible claim did not mismatch the data")
    steps.expect(len(found.domain_violations) == 1, "the implausible claim violated no range")
    [mismatch], [violation] = found.value_mismatches, found.domain_violations
    actual = steps.require_value(mismatch.actual, "the recomputed mean")
    limit = steps.require_value(violation.max, "the limit of the range")
    report.print_step(
        "rejected", f"the data give {actual:.2f}: a {mismatch.severity} mismatch; {DOMAIN} ends at {limit:g}"
    )
    report.print_step("feedback", f"for {ANALYST}, with no figure of the data:")
    report.print_block(steps.require_value(attempt.feedback, "the feedback on the implausible claim"))
