"""Seeded runs of the whole suite under faults."""

from collections.abc import Mapping

import pytest

from aex_models.contract import ContractStatus
from aex_models.events import Event, OutcomeVerified
from aex_models.settlement import LedgerTransaction, TransactionKind
from aex_runtime.handlers import EventHandler
from aex_runtime.unit_of_work import Unit
from aex_settlement.repository.ledger import create_transactions
from aex_settlement.rules.postings import settlement_postings
from aex_settlement.rules.recompute import recomputed_cost
from aex_verification.handlers.read import outcome_of
from aex_work_publisher.repository import find_work
from tests.simulation.faults import Odds
from tests.simulation.histories import attempts_of
from tests.simulation.wishes import Shares
from tests.simulation.world import World

STEPS = 150


@pytest.mark.parametrize("seed", range(15))
async def test_the_suite_keeps_its_promises_under_faults(seed: int) -> None:
    await World(seed).run(STEPS)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(1_000, 1_300, 20))
async def test_the_suite_keeps_its_promises_under_many_faults(start: int) -> None:
    for seed in range(start, start + 20):
        await World(seed).run(STEPS)


async def test_the_same_seed_gives_the_same_run() -> None:
    one, other = World(7), World(7)
    await one.run(STEPS)
    await other.run(STEPS)
    assert one.trace == other.trace
    assert [deal.contract_id for deal in one.deals] == [deal.contract_id for deal in other.deals]


async def test_runs_reach_every_kind_of_end() -> None:
    ends = set()
    for seed in range(16):
        world = World(seed)
        await world.run(STEPS)
        ends |= {status.value for status in world.ledger.finals.values()}
    assert {"passed", "exhausted", "expired", "failed", "finalised", "cancelled"} <= ends


async def test_custom_code_meets_every_fate() -> None:
    fates, causes = set(), set()
    for seed in range(10):
        world = World(seed, Odds(code_fails=0.5), Shares(custom=0.9))
        await world.run(2 * STEPS)
        records = [await find_work(world.suite.publisher.store, offer.work_id) for offer in world.offers]
        fates |= {each.record.status.value for each in records if each is not None}
        causes |= {str(event.data["cause"]) for event in world.suite.verification.emitted if "cause" in event.data}
    assert {"refused", "open", "completed"} <= fates
    assert "custom_metric_failed" in causes


async def test_named_verifiers_meet_every_fate() -> None:
    codes, causes, statuses, final_results = set(), set(), set(), set()
    for seed in range(8):
        world = World(seed, shares=Shares(custom=0.1, verifier=0.9))
        await world.run(2 * STEPS)
        service = world.suite.verification
        codes |= {str(event.data["code"]) for event in service.emitted if event.type == "output.rejected"}
        causes |= {str(event.data["cause"]) for event in service.emitted if event.type == "outcome.held"}
        for deal in world.deals:
            statuses |= {attempt.status.value for attempt in await attempts_of(service.store, deal.contract_id)}
            outcome = await outcome_of(world.suite.verification_deps, deal.contract_id)
            passed = outcome is not None and outcome.final_status is ContractStatus.PASSED
            final_results |= {type(outcome.final_result) for _ in [1] if outcome is not None and passed}
    assert {"too_dull", "fatal", "criteria_not_met"} <= codes
    assert "system_retries_exhausted" in causes
    assert {"invalid", "judged"} <= statuses
    assert final_results == {dict, type(None)}


async def test_a_settlement_that_forgets_what_it_settled_is_caught() -> None:
    """A check of the checker: a handler that posts again for every delivery."""
    caught = [seed for seed in range(20) if await broken_promise(seed)]
    assert caught, "twenty seeds did not find a settlement that posts twice"


async def broken_promise(seed: int) -> bool:
    world = World(seed)
    world.suite.settlement.wire(forgetful(world))
    try:
        await world.run(STEPS)
    except AssertionError as error:
        return "settled twice" in str(error)
    return False


def forgetful(world: World) -> Mapping[str, EventHandler]:
    """Settlement without memory: the transaction's id is new each time."""
    settlement = world.suite.settlement

    async def outcome_verified(event: Event) -> None:
        outcome = OutcomeVerified.model_validate(event.data).outcome

        async def post(unit: Unit) -> None:
            cost = recomputed_cost(outcome)
            transaction = LedgerTransaction(
                id=settlement.ids.new("txn"),
                contract_id=outcome.contract_id,
                kind=TransactionKind.SETTLEMENT,
                postings=settlement_postings(cost, outcome.consumer_id, outcome.agent_id),
                occurred_at=unit.now,
            )
            create_transactions(unit, transaction)

        await settlement.unit_of_work.run(post)

    return {"outcome.verified": outcome_verified}
