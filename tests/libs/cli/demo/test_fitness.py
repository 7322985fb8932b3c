"""The demo's third work against the real engine, offline."""

import hashlib
from decimal import Decimal

import pytest

from aex_cli.demo.fitness import IMPLAUSIBLE_MEAN, fitness_table, fitness_work, mean_claim
from aex_models.results import Verdict, VerificationResult
from aex_outcomes import VerificationEngine

pytestmark = pytest.mark.slow  # an engine with a confined worker, several times

TABLE = fitness_table()


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


async def test_implausible_and_wrong_claims_are_rejected() -> None:
    result = await judged(IMPLAUSIBLE_MEAN)
    assert (result.verdict, result.penalty) == (Verdict.REJECTED, Decimal("0.10"))
    assert (await judged(Decimal("-0.31"))).verdict is Verdict.REJECTED


async def test_mean_of_the_table_passes_with_its_bonus() -> None:
    mean = mean_claim(TABLE.decode())
    assert mean == Decimal("-0.40")
    result = await judged(mean)
    assert (result.verdict, result.bonus) == (Verdict.PASSED, Decimal("0.30"))
