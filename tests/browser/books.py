"""Two months of settlements, made by the handlers of production, for a browser."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any

from aex_models.contract import ContractStatus, Terms
from aex_models.cost import cost, to_billing_impact
from aex_models.results import Verdict
from tests.libs.models.results import a_criterion, a_result
from tests.services.settlement.counter import Counter
from tests.services.settlement.ledger_kit import FINANCE

FIRST = datetime(2025, 2, 1, 9, tzinfo=UTC)
DAYS = 58
BY_HAND = "ctr_by_hand"
"""base 0.05, bonuses 0.03 and 0.02, one penalty of 0.015: 0.085."""
CORRECTED, REVERSED = "ctr_corrected", "ctr_reversed"
NASTY = "<script>alert(1)</script>"
_AGENTS = ("bot", "crew", "scribe", "labeller-7", "org.example/summariser")
_CONSUMERS = ("acme", "globex", "initech")
_DOMAINS = ("general", "nlp.summarization", "science/physics", "vision.labelling")


async def keep_books(counter: Counter) -> None:
    """Fill the books day by day, sealed at the end of each."""
    dice = Random(11)
    clock = counter.ledger.clock
    sums = {"platform:cash": 500_000_000, "consumer:acme": -500_000_000}
    postings = [{"account": name, "amount": amount, "currency": "USD"} for name, amount in sums.items()]
    deposit = {"kind": "deposit", "postings": postings, "reason": f"wire 4711 {NASTY}"}
    assert (await counter.post(FINANCE, "/v1/ledger/transactions", deposit)).status_code == 201
    for day in range(DAYS):
        for number in range(dice.randrange(0, 3)):
            await counter.settle(f"ctr_{day:02}_{number}", **_drawn(dice, f"ctr_{day:02}_{number}"))
        if day == DAYS - 6:
            await _notable(counter)
        await counter.seal()
        clock.advance(timedelta(days=1))


async def _notable(counter: Counter) -> None:
    await counter.settle(BY_HAND, **by_hand())
    for contract in (CORRECTED, REVERSED):
        await counter.settle(contract)
    replacement = {"base": "0.75", "bonus": "0.00", "penalty": "0.10"}
    for contract, request in ((CORRECTED, {"replacement": replacement}), (REVERSED, {})):
        answer = await counter.reverse(contract, **request, reason=f"agreed with {NASTY}")
        assert answer.status_code == 201, answer.text


def _drawn(dice: Random, contract_id: str) -> dict[str, Any]:
    currency = "EUR" if dice.random() < 0.1 else "USD"
    agreed = Terms(cpc_rate=Decimal(dice.randrange(50, 400)) / 100, currency=currency, fee_rate=Decimal("0.05"))
    passed = dice.random() < 0.75
    bonus, penalty = Decimal(dice.randrange(10, 200)) / 100, Decimal(dice.randrange(5, 150)) / 100
    lines = (
        a_criterion("rougeL", value=0.31 + 0.3 * passed, met=passed, bonus=bonus if passed else Decimal(0)),
        a_criterion("latency_ms", threshold=800, comparison="lte", value=950, met=False, penalty=penalty),
    )
    judged = a_result(
        contract_id=contract_id,
        verdict=Verdict.PASSED if passed else Verdict.REJECTED,
        success=passed,
        criterion_results=lines,
        bonus=bonus if passed else Decimal(0),
        penalty=penalty if dice.random() < 0.4 else Decimal(0),
    )
    return {
        "agent_id": dice.choice(_AGENTS),
        "consumer_id": dice.choice(_CONSUMERS),
        "domain": dice.choice(_DOMAINS),
        "final_status": ContractStatus.PASSED if passed else ContractStatus.EXHAUSTED,
        "terms": agreed,
        "verification_result": judged,
        "billing_impact": to_billing_impact(cost(agreed, judged, contract_id)),
    }


def by_hand() -> dict[str, Any]:
    """The outcome whose amounts were worked out by hand."""
    agreed = Terms(cpc_rate=Decimal("0.05"))
    judged = a_result(
        contract_id=BY_HAND,
        criterion_results=(
            a_criterion("rougeL", bonus="0.03"),
            a_criterion("f1", value=0.91, threshold=0.9, bonus="0.02", secret=True),
            a_criterion("latency_ms", value=1250, threshold=1000, comparison="lte", met=False, penalty="0.015"),
        ),
        bonus="0.05",
        penalty="0.015",
    )
    return {"terms": agreed, "verification_result": judged}
