"""What holds whatever happens: after every step, and once everything has come to rest."""

from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, TypeVar

from aex_models.contract import ContractStatus
from aex_models.criteria import BonusPolicy
from aex_models.faults import Fault
from aex_models.frozen import Frozen
from aex_models.governance import Action
from aex_models.outcome import OutcomeRecord
from aex_models.settlement import Settlement
from aex_models.work import WorkStatus
from aex_runtime.store.keys import key_of
from aex_runtime.store.port import Store
from aex_runtime.store.table import Table
from aex_settlement.repository.journal import read_head
from aex_settlement.repository.ledger import TRANSACTIONS
from aex_settlement.repository.projections import BALANCES, read_state
from aex_settlement.repository.settlements import SETTLEMENTS
from aex_settlement.rules.projected import Projection
from aex_verification.handlers.read import outcome_of
from aex_verification.repository import CONTRACTS
from aex_verification.rules.records import ContractRow
from aex_work_publisher.repository import WORKS
from tests.services.settlement.journal.recount import check_projections
from tests.services.settlement.journal.wholeness import ALL, checked_journal
from tests.simulation.histories import check_final_result, check_history
from tests.simulation.services import SOUND
from tests.simulation.wishes import Offer

if TYPE_CHECKING:
    from tests.simulation.world import World

M = TypeVar("M", bound=Frozen)


@dataclass
class Ledger:
    """What was seen before: nothing final ever changes, no attempt is ever given back."""

    attempts: dict[str, int] = field(default_factory=dict)
    finals: dict[str, ContractStatus] = field(default_factory=dict)
    hashes: dict[int, str] = field(default_factory=dict)
    """Of the journal's batches."""


async def check_invariants(world: "World") -> None:
    """After every step."""
    for deal in world.deals:
        row = await _found(CONTRACTS, world.suite.verification.store, key_of(deal.contract_id))
        if row is not None:
            _check_contract(world.ledger, row)
    await _check_postings(world)
    await _check_books(world)


async def check_quiescent(world: "World") -> None:
    """Once nothing moves any more: every contract has one end, and is settled accordingly."""
    for deal in world.deals:
        row = await _found(CONTRACTS, world.suite.verification.store, key_of(deal.contract_id))
        settlement = await _found(SETTLEMENTS, world.suite.settlement.store, key_of(deal.contract_id))
        outcome = await outcome_of(world.suite.verification_deps, deal.contract_id)
        assert row is not None, f"{deal.contract_id} was lost"
        assert row.state.final, f"{deal.contract_id} is {row.state.status}"
        await check_history(world.suite.verification.store, row)
        if row.state.status is ContractStatus.CANCELLED:
            assert outcome is None
            assert settlement is None
            continue
        assert outcome is not None, f"{deal.contract_id} ended without an outcome"
        assert settlement is not None, f"{deal.contract_id} was not settled"
        _check_outcome(outcome, settlement, Decimal(deal.least), Decimal(deal.most))
        check_final_result(outcome, deal.verifier)
    for offer in world.offers:
        await _check_offer(world, offer)
    await _check_whole_books(world, at_head=True)
    for service in world.suite.services:
        assert await service.dead_letters.count() == 0, f"{service.name} has dead letters"


async def _check_offer(world: "World", offer: Offer) -> None:
    """However often the sandbox was away, sound code was not refused for it, and no other was let through."""
    record = await _found(WORKS, world.suite.publisher.store, key_of(offer.work_id))
    assert record is not None, f"{offer.work_id} was lost"
    assert record.status is not WorkStatus.CHECKING, f"{offer.work_id} was never checked"
    refused = record.status is WorkStatus.REFUSED
    assert refused is (SOUND not in (offer.code or "")), f"{offer.work_id} with {offer.code} is {record.status}"
    assert refused is bool(record.check and record.check.problems), "a refusal says why, and nothing else does"


def _check_contract(seen: Ledger, row: ContractRow) -> None:
    used = row.state.verification.attempts_used
    assert seen.attempts.get(row.contract_id, 0) <= used <= row.state.verification.max_attempts
    assert used == len(row.state.verification.judged), "every attempt is a judged candidate, and no other is"
    seen.attempts[row.contract_id] = used
    if row.contract_id in seen.finals:
        assert row.state.status is seen.finals[row.contract_id], "a final status changed"
    if row.state.final:
        seen.finals[row.contract_id] = row.state.status


async def _check_postings(world: "World") -> None:
    settled: set[str] = set()
    sums: dict[str, int] = {}
    found = await TRANSACTIONS.find(world.suite.settlement.store, order="occurred_at", limit=ALL)
    for transaction in (each.record for each in found):
        assert transaction.contract_id not in settled, f"{transaction.contract_id} was settled twice"
        if transaction.contract_id is not None:
            settled.add(transaction.contract_id)
        for posting in transaction.postings:
            sums[posting.currency] = sums.get(posting.currency, 0) + posting.amount
    assert not any(sums.values()), f"the trial balance is {sums}"


async def _check_books(world: "World") -> None:
    """The journal and its projections, whenever something was sealed."""
    head = await read_head(world.suite.settlement.store)
    if head is not None and head.record.seq not in world.ledger.hashes:
        await _check_whole_books(world, at_head=False)


async def _check_whole_books(world: "World", *, at_head: bool) -> None:
    store, seen = world.suite.settlement.store, world.ledger.hashes
    journal = await checked_journal(store)
    for batch in journal.batches:
        assert seen.setdefault(batch.seq, batch.hash) == batch.hash, f"batch {batch.seq} was sealed anew"
    await check_projections(store, journal, at_head=at_head)
    if at_head:
        assert len(journal.sealed) == len(await TRANSACTIONS.find(store, order="occurred_at", limit=ALL))
        await _check_trial_balance(world)


async def _check_trial_balance(world: "World") -> None:
    state = await read_state(world.suite.settlement.store, Projection.ACCOUNTS)
    assert state is not None, "the books were never opened"
    of_generation = {"generation": state.record.generation}
    sums: dict[str, int] = {}
    for each in await BALANCES.find(world.suite.settlement.store, of_generation, limit=ALL):
        sums[each.record.currency] = sums.get(each.record.currency, 0) + each.record.balance
    assert not any(sums.values()), f"the balances sum to {sums}"


def _check_outcome(outcome: OutcomeRecord, settlement: Settlement, least: Decimal, most: Decimal) -> None:
    impact, cost = outcome.billing_impact, settlement.cost
    told = (impact.base, impact.bonus, impact.penalty, impact.total)
    assert told == (cost.base, cost.bonus, cost.penalty, cost.total), "billing impact and settlement differ"
    assert impact.base + impact.bonus - impact.penalty == impact.total
    assert least <= impact.total <= most, f"{impact.total} is outside the quoted {least} to {most}"
    result = outcome.verification_result
    if result is None:
        assert impact.total == 0
        return
    if any(each.error and each.error.fault is Fault.PLATFORM for each in result.criterion_results):
        assert impact.bonus == impact.penalty == 0, "the platform could not tell, and somebody pays for it"
    policy = outcome.success_criteria.bonus_policy if outcome.success_criteria else BonusPolicy.ON_SUCCESS
    if policy is BonusPolicy.ON_SUCCESS and not result.success:
        assert impact.bonus == 0, "a bonus without success"
    if result.governance.action is not Action.ALLOW:
        assert impact.bonus == 0, "a bonus that governance did not allow"


async def _found(table: Table[M], store: Store, key: str) -> M | None:
    stored = await table.get(store, key)
    return stored.record if stored else None
