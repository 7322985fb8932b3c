from decimal import Decimal

from aex_models.audiences import Audience
from aex_models.contract import ContractStatus
from aex_models.cost import cost
from aex_models.events import SettlementAdjusted
from aex_models.outcome import OutcomeRecord
from aex_models.settlement import Cost
from aex_runtime.identity.principals import Principal
from aex_verification.handlers.read import load_attempt, render_attempt, render_outcome
from tests.parts.verification import VerificationBench, make_event
from tests.services.verification.flow import CONTRACT, SHORT, grade, opened, outcome

CONSUMER = Principal("acme", Audience.CONSUMER, None)


async def unpaid() -> tuple[VerificationBench, str]:
    """A rejected delivery that costs nothing, and its attempt."""
    terms = {"cpc_rate": "0.10", "base_policy": "on_success"}
    bench = await opened(verifier=None, verification={"max_attempts": 1}, terms=terms)
    row = await grade(bench, SHORT)
    record = await outcome(bench)
    assert (record.final_status, record.billing_impact.total) == (ContractStatus.EXHAUSTED, Decimal(0))
    return bench, row.attempt_id


def costing(record: OutcomeRecord, total: str) -> Cost:
    base = Decimal(total)
    free = cost(record.terms, None, record.contract_id)
    parts = free.breakdown.model_copy(update={"cpc": base})
    return Cost.model_validate(free.model_dump() | {"base": base, "total": base, "breakdown": parts.model_dump()})


async def correct(bench: VerificationBench, total: str, revision: int = 2) -> None:
    data = SettlementAdjusted(contract_id=CONTRACT, revision=revision, cost=costing(await outcome(bench), total))
    await bench.handlers["settlement.adjusted"](make_event("settlement.adjusted", CONTRACT, data))


async def reads_output(bench: VerificationBench, attempt_id: str) -> bool:
    record = await outcome(bench)
    result = render_outcome(CONSUMER, record)["verification_result"]
    attempt = await render_attempt(bench.deps, CONSUMER, await load_attempt(bench.deps, CONTRACT, attempt_id))
    assert ("candidate" in attempt) is ("metrics" in result)
    return "candidate" in attempt


async def test_consumer_reads_an_output_from_the_correction_on_that_charges_it() -> None:
    bench, attempt_id = await unpaid()
    await correct(bench, "0.00")
    assert not await reads_output(bench, attempt_id)
    for revision, total in enumerate(("0.05", "0.05", "0.00"), 2):  # also a repeated event, and a later reversal
        await correct(bench, total, revision)
        assert await reads_output(bench, attempt_id)


async def test_correction_changes_nothing_else_of_the_outcome() -> None:
    bench, _ = await unpaid()
    before = await outcome(bench)
    await correct(bench, "0.05")
    assert await outcome(bench) == before.model_copy(update={"paid_by_correction": True})
    assert len(bench.emitted("outcome.verified")) == 1
