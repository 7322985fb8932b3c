"""Eight consumers at once, each with a connection of its own: on either backend everything is booked once."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from aex_models.corrections import Replacement, ReversalRequest
from aex_models.events import SettlementAdjusted
from aex_models.settlement import SettlementStatus, TransactionKind
from aex_runtime.errors import Conflict
from aex_runtime.http.idempotency import IdempotentRequest
from aex_settlement.handlers.read_settlements import read_settlement
from aex_settlement.handlers.reverse_settlement import reverse_settlement
from tests.services.settlement.desk import FINANCE, Desk
from tests.services.settlement.eight import Balances, Eight, eight_over, receive
from tests.services.settlement.outcomes import NOON, an_event, an_outcome

CHEAPER = Replacement(base=Decimal("0.10"), bonus=Decimal("0.05"), penalty=Decimal("0.02"))
_MICROSECOND = timedelta(microseconds=1)


@pytest.fixture(params=["sqlite", pytest.param("firestore", marks=pytest.mark.emulator)])
async def eight(request: pytest.FixtureRequest, tmp_path: Path, project: str) -> AsyncIterator[Eight]:
    emulators = request.getfixturevalue("emulators") if request.param == "firestore" else None
    async with eight_over(tmp_path, emulators, project, NOON) as opened:
        yield opened


async def reverse(desk: Desk, contract_id: str, reason: str, replacement: Replacement | None) -> str:
    """Answers what became of it: `booked`, or the refusal's code."""
    request = ReversalRequest(reason=reason, replacement=replacement, revision=1)
    try:
        await reverse_settlement(desk.deps, contract_id, request, reason, IdempotentRequest(reason, None, ""))
    except Conflict as refused:
        return refused.code
    return "booked"


async def test_a_contract_that_is_delivered_to_eight_at_once_is_settled_once(eight: Eight) -> None:
    outcomes = [an_outcome(f"ctr_{number}") for number in range(5)]
    for outcome in outcomes:
        await asyncio.gather(*(receive(desk, an_event(outcome)) for desk in eight.desks))
    await asyncio.gather(*(receive(desk, an_event(each)) for desk in eight.desks for each in outcomes))
    booked = await eight.first.transactions()
    assert Counter(each.contract_id for each in booked) == {each.contract_id: 1 for each in outcomes}
    completed = Counter(each.subject for each in await eight.published("settlement.completed"))
    assert completed == {each.contract_id: 1 for each in outcomes}
    for outcome in outcomes:
        settled = await read_settlement(eight.first.deps, FINANCE, outcome.contract_id)
        assert (settled.status, settled.revision, len(settled.revisions)) == (SettlementStatus.SETTLED, 1, 1)
    assert await eight.first.seal() == len(outcomes)
    assert await eight.balances() == {
        ("consumer:acme", "USD"): "7.500000",
        ("agent:bot", "USD"): "-6.750000",
        ("platform:fees", "USD"): "-0.750000",
    }


@pytest.mark.parametrize("replacement", [None, CHEAPER], ids=["for good", "and booked anew"])
async def test_of_eight_reversals_at_once_one_is_booked(eight: Eight, replacement: Replacement | None) -> None:
    await receive(eight.first, an_event(an_outcome()))
    answers = await asyncio.gather(
        *(reverse(desk, "ctr_1", f"operator {place}", replacement) for place, desk in enumerate(eight.desks))
    )
    assert Counter(answers)["booked"] == 1, answers
    assert set(answers) <= {"booked", "already_reversed", "revision_changed"}
    kinds = Counter(each.kind for each in await eight.transactions("ctr_1"))
    assert kinds == {TransactionKind.SETTLEMENT: 1 if replacement is None else 2, TransactionKind.REVERSAL: 1}
    (adjusted,) = await eight.published("settlement.adjusted")
    told = SettlementAdjusted.model_validate(adjusted.data)
    settled = await read_settlement(eight.first.deps, FINANCE, "ctr_1")
    if replacement is None:
        assert (told.revision, told.cost.total) == (1, Decimal(0))
        assert (settled.status, settled.revision) == (SettlementStatus.REVERSED, 1)
    else:
        assert (told.revision, told.cost.total, told.cost.fee) == (2, Decimal("0.13"), Decimal("0.013"))
        assert (settled.status, settled.revision) == (SettlementStatus.SETTLED, 2)


async def test_a_reversal_restores_every_account(eight: Eight) -> None:
    await receive(eight.first, an_event(an_outcome("ctr_before")))
    await eight.first.seal()
    before = await eight.balances()
    await receive(eight.first, an_event(an_outcome("ctr_1", agent_id="other", consumer_id="globex")))
    await eight.first.seal()
    assert await eight.balances() != before
    assert await reverse(eight.desks[3], "ctr_1", "billed in error", None) == "booked"
    await eight.desks[3].seal()
    assert await eight.balances() == before


async def test_the_trial_balance_is_zero_at_every_sealed_instant_and_what_it_said_of_the_past_stays(
    eight: Eight,
) -> None:
    chance = random.Random(5)
    said: dict[datetime, Balances] = {}
    for turn in range(6):
        outcomes = [an_outcome(f"ctr_{turn}_{number}", agent_id=f"bot-{number}") for number in range(3)]
        corrected = [f"ctr_{turn - 1}_{number}" for number in range(2)] if turn else []
        await asyncio.gather(
            *(receive(desk, an_event(each)) for desk in chance.sample(eight.desks, 2) for each in outcomes),
            *(reverse(chance.choice(eight.desks), each, "again", chance.choice([None, CHEAPER])) for each in corrected),
            *(desk.seal() for desk in chance.sample(eight.desks, 2)),
        )
        await eight.first.seal()
        for instant in await eight.instants():
            balances = await eight.balances(instant)
            assert said.setdefault(instant, balances) == balances
        for desk in eight.desks:
            desk.clock.advance(timedelta(hours=7))
    between = {instant + _MICROSECOND: instant for instant in said if instant + _MICROSECOND not in said}
    for later, instant in between.items():
        assert await eight.balances(later) == said[instant]
    assert len({str(each) for each in said.values()}) > 6
    assert await eight.balances(NOON - timedelta(days=1)) == {}
