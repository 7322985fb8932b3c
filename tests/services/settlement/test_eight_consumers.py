"""Eight consumers of one service, each with a store and a connection of its own, on either backend."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from aex_models.corrections import Replacement, ReversalRequest
from aex_models.events import Event, SettlementAdjusted
from aex_models.settlement import SettlementStatus, TransactionKind
from aex_runtime.bus.wire import decode_event, encode_event
from aex_runtime.errors import Conflict
from aex_runtime.http.idempotency import IdempotentRequest
from aex_runtime.records import outbox_table
from aex_runtime.store.firestore import FirestoreStore
from aex_runtime.store.port import Store
from aex_runtime.store.sqlite import SQLiteStore
from aex_settlement.handlers.post_transactions import reverse_settlement
from aex_settlement.handlers.read_ledger import read_settlement, read_trial_balance
from aex_settlement.repository.journal import find_batches_after
from aex_settlement.subscriptions import subscriptions
from tests.emulators.emulators import Emulators
from tests.services.settlement.ledger_kit import FINANCE, LedgerKit, ledger_kit_over
from tests.services.settlement.outcomes import NOON, an_event, an_outcome

CONSUMERS = 8
_ALL = 10_000
Balances = dict[tuple[str, str], str]
"""By account and currency."""


@dataclass(frozen=True, slots=True)
class Eight:
    """The ledgers; what one of them commits, the others see."""

    ledgers: tuple[LedgerKit, ...]

    @property
    def first(self) -> LedgerKit:
        return self.ledgers[0]

    async def published(self, event_type: str) -> list[Event]:
        entries = await outbox_table("settlement").find(self.first.deps.store, order="created_at", limit=_ALL)
        return [each.record.event for each in entries if each.record.event.type == event_type]

    async def balances(self, as_of: datetime | None = None) -> Balances:
        """The trial balance, which must be zero in each currency; accounts that hold nothing are left out."""
        found = await read_trial_balance(self.first.deps, None if as_of is None else as_of.isoformat())
        assert sum(each.balance for each in found.accounts) == 0
        return {(each.account, each.currency): str(each.balance) for each in found.accounts if each.balance}


@pytest.fixture(params=["sqlite", pytest.param("firestore", marks=pytest.mark.emulator)])
async def eight(request: pytest.FixtureRequest, tmp_path: Path, project: str) -> AsyncIterator[Eight]:
    """Eight over one SQLite file, or over one project on the Firestore emulator."""
    stores: list[Store]
    if request.param == "sqlite":
        stores = [SQLiteStore(tmp_path / "store.sqlite3") for _ in range(CONSUMERS)]
    else:
        emulators: Emulators = request.getfixturevalue("emulators")
        stores = [FirestoreStore(project, emulator=emulators.firestore.host) for _ in range(CONSUMERS)]
    yield Eight(tuple(ledger_kit_over(store, NOON) for store in stores))
    for store in stores:
        await store.close()


async def receive(ledger: LedgerKit, event: Event) -> None:
    """Deliver an event as a consumer does: as it comes from the wire."""
    await subscriptions(ledger.deps)[event.type](decode_event(encode_event(event)))


CHEAPER = Replacement(base=Decimal("0.10"), bonus=Decimal("0.05"), penalty=Decimal("0.02"))
_MICROSECOND = timedelta(microseconds=1)


async def reverse(ledger: LedgerKit, contract_id: str, reason: str, replacement: Replacement | None) -> str:
    """Answers what became of it: `booked`, or the refusal's code."""
    request = ReversalRequest(reason=reason, replacement=replacement, revision=1)
    try:
        await reverse_settlement(ledger.deps, contract_id, request, reason, IdempotentRequest(reason, None, ""))
    except Conflict as refused:
        return refused.code
    return "booked"


async def test_a_contract_that_is_delivered_to_eight_at_once_is_settled_once(eight: Eight) -> None:
    outcomes = [an_outcome(f"ctr_{number}") for number in range(5)]
    for outcome in outcomes:
        await asyncio.gather(*(receive(ledger, an_event(outcome)) for ledger in eight.ledgers))
    await asyncio.gather(*(receive(ledger, an_event(each)) for ledger in eight.ledgers for each in outcomes))
    posted = await eight.first.transactions()
    assert Counter(each.contract_id for each in posted) == {each.contract_id: 1 for each in outcomes}
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


@pytest.mark.parametrize("replacement", [None, CHEAPER], ids=["permanently", "with a replacement"])
async def test_one_of_eight_concurrent_reversals_is_posted(eight: Eight, replacement: Replacement | None) -> None:
    await receive(eight.first, an_event(an_outcome()))
    answers = await asyncio.gather(
        *(
            reverse(ledger, "ctr_1", f"operator {position}", replacement)
            for position, ledger in enumerate(eight.ledgers)
        )
    )
    assert Counter(answers)["booked"] == 1, answers
    assert set(answers) <= {"booked", "already_reversed", "revision_changed"}
    kinds = Counter(each.kind for each in await eight.first.transactions())
    assert kinds == {TransactionKind.SETTLEMENT: 1 if replacement is None else 2, TransactionKind.REVERSAL: 1}
    (adjusted,) = await eight.published("settlement.adjusted")
    logged = SettlementAdjusted.model_validate(adjusted.data)
    settled = await read_settlement(eight.first.deps, FINANCE, "ctr_1")
    if replacement is None:
        assert (logged.revision, logged.cost.total) == (1, Decimal(0))
        assert (settled.status, settled.revision) == (SettlementStatus.REVERSED, 1)
    else:
        assert (logged.revision, logged.cost.total, logged.cost.fee) == (2, Decimal("0.13"), Decimal("0.013"))
        assert (settled.status, settled.revision) == (SettlementStatus.SETTLED, 2)


async def test_past_trial_balances_sum_to_zero_and_stay(eight: Eight) -> None:
    chance = random.Random(5)
    text: dict[datetime, Balances] = {}
    for turn in range(6):
        outcomes = [an_outcome(f"ctr_{turn}_{number}", agent_id=f"bot-{number}") for number in range(3)]
        corrected = [f"ctr_{turn - 1}_{number}" for number in range(2)] if turn else []
        await asyncio.gather(
            *(receive(ledger, an_event(each)) for ledger in chance.sample(eight.ledgers, 2) for each in outcomes),
            *(
                reverse(chance.choice(eight.ledgers), each, "again", chance.choice([None, CHEAPER]))
                for each in corrected
            ),
            *(ledger.seal() for ledger in chance.sample(eight.ledgers, 2)),
        )
        await eight.first.seal()
        for instant in [batch.sealed_at for batch in await find_batches_after(eight.first.deps.store, 0, _ALL)]:
            balances = await eight.balances(instant)
            assert text.setdefault(instant, balances) == balances
        for ledger in eight.ledgers:
            ledger.clock.advance(timedelta(hours=7))
    between = {instant + _MICROSECOND: instant for instant in text if instant + _MICROSECOND not in text}
    for later, instant in between.items():
        assert await eight.balances(later) == text[instant]
    assert len({str(each) for each in text.values()}) > 6
    assert await eight.balances(NOON - timedelta(days=1)) == {}
