"""The demo's third work against the real engine, offline."""

import hashlib
from decimal import Decimal

import pytest

from aex_cli.demo.fitness import ABSURD, as_csv, fitness_work, honest_mean, measured, scores_of
from aex_models.results import Verdict, VerificationResult
from aex_outcomes import VerificationEngine

pytestmark = pytest.mark.slow  # an engine with a confined worker, several times

TABLE = as_csv(measured())


async def judged(mean: Decimal) -> VerificationResult:
    work = fitness_work(hashlib.sha256(TABLE).hexdigest(), TABLE.decode())
    return await VerificationEngine().verify(
        contract_id="ctr_demo",
        work_input=work.input,
        work_output={"text": "as claimed"},
        success_criteria=work.success_criteria,
        science=work.science,
        domain=work.domain,
        claimed_values={"mean_fitness": float(mean)},
        data={"scores.csv": TABLE},
    )


async def test_what_the_plot_said_is_rejected_and_costs_its_penalties() -> None:
    result = await judged(ABSURD)
    assert (result.verdict, result.penalty) == (Verdict.REJECTED, Decimal("0.10"))


async def test_what_the_table_says_passes_with_its_bonus() -> None:
    mean = honest_mean(scores_of(TABLE.decode()))
    assert mean == Decimal("-0.40")
    result = await judged(mean)
    assert (result.verdict, result.bonus) == (Verdict.PASSED, Decimal("0.30"))


async def test_another_value_that_is_possible_does_not_pass() -> None:
    assert (await judged(Decimal("-0.31"))).verdict is Verdict.REJECTED
