"""A verified outcome is settled once and only once, whatever the bus and the replicas do."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from aex_models.contract import Terms
from aex_models.events import Event, SettlementCompleted, UnreadableEvent, subscriptions_of
from aex_models.governance import Action, GovernanceResult
from aex_models.outcome import OutcomeRecord
from aex_models.results import Verdict
from aex_models.settlement import Settlement, SettlementStatus, TransactionKind
from aex_models.work import FeedbackLevel
from aex_runtime.bus.wire import decode, encode
from aex_runtime.handlers import Poison
from aex_runtime.store.buffer import BufferedTransaction
from aex_runtime.store.memory import MemoryStore
from aex_runtime.store.port import AlreadyExists, Store, T
from aex_settlement.handlers.read_settlements import read_settlement
from aex_settlement.handlers.settle_outcome import settle_outcome
from aex_settlement.rules.ids import settlement_transaction_id
from aex_settlement.subscriptions import subscriptions
from tests.libs.models.results import a_criterion, a_result
from tests.services.settlement.desk import FINANCE, Desk, desk_over, open_store
from tests.services.settlement.outcomes import NOON, an_event, an_outcome


async def receive(desk: Desk, event: Event) -> None:
    """Deliver an event as the consumer does: as it comes from the wire."""
    await subscriptions(desk.deps)[event.type](decode(encode(event)))


async def settlement_of(desk: Desk, contract_id: str = "ctr_1") -> Settlement:
    return await read_settlement(desk.deps, FINANCE, contract_id)


def test_settlement_handles_what_it_subscribes_to(desk: Desk) -> None:
    assert set(subscriptions(desk.deps)) == set(subscriptions_of("settlement"))


async def test_an_outcome_becomes_one_balanced_transaction(desk: Desk) -> None:
    await receive(desk, an_event(an_outcome()))
    (transaction,) = await desk.transactions()
    assert transaction.id == settlement_transaction_id("ctr_1", 1)
    assert (transaction.kind, transaction.contract_id) == (TransactionKind.SETTLEMENT, "ctr_1")
    assert transaction.occurred_at == NOON
    assert [(each.account, each.amount, each.currency) for each in transaction.postings] == [
        ("consumer:acme", 1_500_000, "USD"),
        ("agent:bot", -1_350_000, "USD"),
        ("platform:fees", -150_000, "USD"),
    ]


async def test_an_outcome_becomes_a_settlement_record(desk: Desk) -> None:
    await receive(desk, an_event(an_outcome(disclosure=FeedbackLevel.FULL)))
    settlement = await settlement_of(desk)
    assert (settlement.status, settlement.revision, settlement.success) == (SettlementStatus.SETTLED, 1, True)
    assert settlement.disclosure is FeedbackLevel.FULL
    assert settlement.settled_at == NOON
    assert settlement.cost.total == Decimal("1.50")
    (revision,) = settlement.revisions
    assert revision.cost == settlement.cost


async def test_settlement_completed_is_published_with_the_cost(desk: Desk) -> None:
    await receive(desk, an_event(an_outcome()))
    (event,) = desk.events
    assert (event.type, event.subject) == ("settlement.completed", "ctr_1")
    completed = SettlementCompleted.model_validate(event.data)
    assert (completed.revision, completed.cost.total) == (1, Decimal("1.50"))


async def test_replayed_event_posts_once(desk: Desk) -> None:
    event = an_event(an_outcome())
    await receive(desk, event)
    settled = await settlement_of(desk)
    desk.clock.advance(timedelta(days=3))
    for _ in range(3):
        await receive(desk, event)
    assert len(await desk.transactions()) == 1
    assert len(desk.events) == 1
    assert await settlement_of(desk) == settled


async def test_eight_concurrent_deliveries_settle_once(desk: Desk) -> None:
    posted = await asyncio.gather(*(settle_outcome(desk.deps, an_outcome()) for _ in range(8)))
    assert sum(posted) == 1
    assert len(await desk.transactions()) == 1
    assert len(desk.events) == 1


async def test_eight_replicas_over_one_file_settle_once(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        desks = [desk_over(await stack.enter_async_context(open_store("sqlite", tmp_path)), NOON) for _ in range(8)]
        contracts = [an_outcome(f"ctr_{number}") for number in range(4)]
        posted = await asyncio.gather(*(settle_outcome(desk.deps, each) for each in contracts for desk in desks))
        assert sum(posted) == len(contracts)
        assert len(await desks[3].transactions()) == len(contracts)
        assert sum(len(desk.events) for desk in desks) == len(contracts)


class OvertakenStore(MemoryStore):
    """A store in which a rival commits between the first transaction's reads and its commit."""

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
        assert await settle_outcome(desk_over(store, NOON).deps, an_outcome())

    desk = desk_over(OvertakenStore(rival), NOON)
    assert not await settle_outcome(desk.deps, an_outcome())
    assert len(await desk.transactions()) == 1
    assert desk.events == []


async def test_settlements_write_no_document_in_common(desk: Desk) -> None:
    many = [
        an_outcome(f"ctr_{number}", terms=Terms(cpc_rate=Decimal(1), fee_rate=Decimal("0.1"))) for number in range(40)
    ]
    assert all(await asyncio.gather(*(settle_outcome(desk.deps, each) for each in many)))
    assert len(await desk.postings("platform:fees")) == len({each.id for each in await desk.transactions()}) == 40


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
async def test_an_outcome_that_costs_nothing_is_settled_too(desk: Desk, outcome: OutcomeRecord, base: str) -> None:
    await receive(desk, an_event(outcome))
    assert (await settlement_of(desk)).cost.model_dump(mode="json")["base"] == base
    (transaction,) = await desk.transactions()
    assert [posting.amount for posting in transaction.postings] == [0, 0]
    assert len(desk.events) == 1


async def test_an_outcome_whose_billing_impact_disagrees_is_refused_with_an_alarm(desk: Desk) -> None:
    outcome = an_outcome()
    off = outcome.billing_impact.model_copy(update={"total": Decimal("1.49")})
    event = an_event(outcome.model_copy(update={"billing_impact": off}))
    with (
        capture_logs() as logs,
        pytest.raises(Poison, match="billing_impact_disagrees: recomputed cost differs in total"),
    ):
        await receive(desk, event)
    assert await desk.transactions() == []
    assert desk.events == []
    (alarm,) = [line for line in logs if line.get("alarm")]
    assert (alarm["event"], alarm["contract_id"], alarm["code"]) == (
        "settlement_refused",
        "ctr_1",
        "billing_impact_disagrees",
    )


async def test_a_settled_contract_that_comes_as_another_outcome_is_refused(desk: Desk) -> None:
    await receive(desk, an_event(an_outcome()))
    with pytest.raises(Poison, match="settled_otherwise"):
        await receive(desk, an_event(an_outcome(agent_id="other")))
    assert len(await desk.transactions()) == 1


async def test_a_cancelled_contract_is_not_settled(desk: Desk) -> None:
    with pytest.raises(Poison, match="outcome_not_final"):
        await receive(desk, an_event(an_outcome(final_status="cancelled", verification_result=None)))
    assert await desk.transactions() == []


async def test_an_event_that_cannot_be_read_settles_nothing_and_quotes_nothing(desk: Desk) -> None:
    event = an_event(an_outcome())
    outcome = {**event.data["outcome"], "attempts_used": "canary-1f3a", "surplus": "canary-77"}
    with pytest.raises(UnreadableEvent, match="outcome/attempts_used") as unreadable:
        await receive(desk, event.model_copy(update={"data": {"outcome": outcome}}))
    assert "canary" not in str(unreadable.value) + repr(unreadable.value.__cause__)
    assert await desk.transactions() == []


async def test_the_published_cost_tells_services_which_lines_are_secret(desk: Desk) -> None:
    result = a_result(criterion_results=(a_criterion("rougeL", secret=True), a_criterion("output_length")))
    await receive(desk, an_event(an_outcome(verification_result=result)))
    assert [line["secret"] for line in desk.events[0].data["cost"]["lines"]] == [True, False]
