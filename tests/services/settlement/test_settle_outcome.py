"""A verified outcome is settled once and only once, whatever the bus and the replicas do."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from decimal import Decimal

import pytest
from structlog.testing import capture_logs

from aex_models.contract import Terms
from aex_models.events import Event, SettlementCompleted, UnreadableEvent, find_subscribed_topics
from aex_models.governance import Action, GovernanceResult
from aex_models.outcome import OutcomeRecord
from aex_models.results import Verdict
from aex_models.settlement import Settlement, SettlementStatus, TransactionKind
from aex_models.work import FeedbackLevel
from aex_runtime.bus.wire import decode_event, encode_event
from aex_runtime.records import Poison
from aex_runtime.store.memory import MemoryStore
from aex_runtime.store.port import AlreadyExists, Store, T
from aex_runtime.store.transactions import BufferedTransaction
from aex_settlement.handlers.post_transactions import settle_outcome
from aex_settlement.handlers.read_ledger import read_settlement
from aex_settlement.rules.transactions import make_settlement_transaction_id
from aex_settlement.subscriptions import subscriptions
from tests.libs.models.results import a_criterion, a_result
from tests.services.settlement.ledger_kit import FINANCE, LedgerKit, ledger_kit_over, on_both_stores
from tests.services.settlement.outcomes import NOON, an_event, an_outcome


async def receive(ledger: LedgerKit, event: Event) -> None:
    """Deliver an event as the consumer does: as it comes from the wire."""
    await subscriptions(ledger.deps)[event.type](decode_event(encode_event(event)))


async def settlement_of(ledger: LedgerKit, contract_id: str = "ctr_1") -> Settlement:
    return await read_settlement(ledger.deps, FINANCE, contract_id)


def test_settlement_handles_what_it_subscribes_to(ledger: LedgerKit) -> None:
    assert set(subscriptions(ledger.deps)) == set(find_subscribed_topics("settlement"))


@on_both_stores
async def test_outcome_becomes_a_transaction_a_settlement_and_an_event(ledger: LedgerKit) -> None:
    await receive(ledger, an_event(an_outcome(disclosure=FeedbackLevel.FULL)))
    (transaction,) = await ledger.transactions()
    assert transaction.id == make_settlement_transaction_id("ctr_1", 1)
    assert (transaction.kind, transaction.contract_id) == (TransactionKind.SETTLEMENT, "ctr_1")
    assert transaction.occurred_at == NOON
    assert [(each.account, each.amount, each.currency) for each in transaction.postings] == [
        ("consumer:acme", 1_500_000, "USD"),
        ("agent:bot", -1_350_000, "USD"),
        ("platform:fees", -150_000, "USD"),
    ]

    settlement = await settlement_of(ledger)
    assert (settlement.status, settlement.revision, settlement.success) == (SettlementStatus.SETTLED, 1, True)
    assert settlement.disclosure is FeedbackLevel.FULL
    assert settlement.settled_at == NOON
    assert settlement.cost.total == Decimal("1.50")
    (revision,) = settlement.revisions
    assert revision.cost == settlement.cost

    (event,) = ledger.events
    assert (event.type, event.subject) == ("settlement.completed", "ctr_1")
    completed = SettlementCompleted.model_validate(event.data)
    assert (completed.revision, completed.cost.total) == (1, Decimal("1.50"))


@on_both_stores
async def test_replayed_event_posts_once(ledger: LedgerKit) -> None:
    event = an_event(an_outcome())
    await receive(ledger, event)
    settled = await settlement_of(ledger)
    ledger.clock.advance(timedelta(days=3))
    for _ in range(3):
        await receive(ledger, event)
    assert len(await ledger.transactions()) == 1
    assert len(ledger.events) == 1
    assert await settlement_of(ledger) == settled


class OvertakenStore(MemoryStore):
    def __init__(self, rival: Callable[[Store], Awaitable[object]]) -> None:
        super().__init__()
        self._rival: Callable[[Store], Awaitable[object]] | None = rival

    async def transact(self, fn: Callable[[BufferedTransaction], Awaitable[T]]) -> T:
        rival, self._rival = self._rival, None
        if rival is not None:
            await rival(self)
            raise AlreadyExists("settlement-transactions", "txn")
        return await super().transact(fn)


async def test_a_replica_that_was_overtaken_finds_the_contract_settled() -> None:
    async def rival(store: Store) -> None:
        assert await settle_outcome(ledger_kit_over(store, NOON).deps, an_outcome())

    ledger = ledger_kit_over(OvertakenStore(rival), NOON)
    assert not await settle_outcome(ledger.deps, an_outcome())
    assert len(await ledger.transactions()) == 1
    assert ledger.events == []


@on_both_stores
async def test_settlements_write_no_document_in_common(ledger: LedgerKit) -> None:
    many = [
        an_outcome(f"ctr_{number}", terms=Terms(cpc_rate=Decimal(1), fee_rate=Decimal("0.1"))) for number in range(40)
    ]
    assert all(await asyncio.gather(*(settle_outcome(ledger.deps, each) for each in many)))
    assert len(await ledger.postings("platform:fees")) == len({each.id for each in await ledger.transactions()}) == 40


@pytest.mark.parametrize(
    ("outcome", "base"),
    [
        (an_outcome(verification_result=None, final_status="expired"), "0.00"),
        (an_outcome(terms=Terms(cpc_rate=Decimal(0)), verification_result=a_result(contract_id="ctr_1")), "0.00"),
        (
            an_outcome(
                final_status="failed",
                verification_result=a_result(
                    success=False, verdict=Verdict.REJECTED, governance=GovernanceResult(action=Action.REJECT)
                ),
            ),
            "0.00",
        ),
    ],
    ids=["nothing judged", "a free contract", "rejected by governance"],
)
async def test_an_outcome_that_costs_nothing_is_settled_too(
    ledger: LedgerKit, outcome: OutcomeRecord, base: str
) -> None:
    await receive(ledger, an_event(outcome))
    assert (await settlement_of(ledger)).cost.model_dump(mode="json")["base"] == base
    (transaction,) = await ledger.transactions()
    assert [posting.amount for posting in transaction.postings] == [0, 0]
    assert len(ledger.events) == 1


async def test_disagreeing_billing_impact_is_refused_with_an_alarm(ledger: LedgerKit) -> None:
    outcome = an_outcome()
    off = outcome.billing_impact.model_copy(update={"total": Decimal("1.49")})
    event = an_event(outcome.model_copy(update={"billing_impact": off}))
    with (
        capture_logs() as logs,
        pytest.raises(Poison, match="billing_impact_disagrees: recomputed cost differs in total"),
    ):
        await receive(ledger, event)
    assert await ledger.transactions() == []
    assert ledger.events == []
    (alarm,) = [line for line in logs if line.get("alarm")]
    assert (alarm["event"], alarm["contract_id"], alarm["code"]) == (
        "settlement_refused",
        "ctr_1",
        "billing_impact_disagrees",
    )


async def test_an_event_that_cannot_be_read_settles_nothing_and_quotes_nothing(ledger: LedgerKit) -> None:
    event = an_event(an_outcome())
    outcome = {**event.data["outcome"], "attempts_used": "canary-1f3a", "surplus": "canary-77"}
    with pytest.raises(UnreadableEvent, match="outcome/attempts_used") as unreadable:
        await receive(ledger, event.model_copy(update={"data": {"outcome": outcome}}))
    assert "canary" not in str(unreadable.value) + repr(unreadable.value.__cause__)
    assert await ledger.transactions() == []


async def test_published_cost_marks_secret_lines(ledger: LedgerKit) -> None:
    result = a_result(criterion_results=(a_criterion("rougeL", secret=True), a_criterion("output_length")))
    await receive(ledger, an_event(an_outcome(verification_result=result)))
    assert [line["secret"] for line in ledger.events[0].data["cost"]["lines"]] == [True, False]
