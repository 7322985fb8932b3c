"""Invariants, checked after every step and at rest."""

from decimal import Decimal
from typing import TYPE_CHECKING

from aex_models.contract import ContractStatus
from aex_models.work import WorkStatus
from aex_runtime.store.port import key_of
from aex_settlement.repository.journal import read_journal_head
from aex_settlement.repository.ledger import TRANSACTIONS
from aex_settlement.repository.projections import BALANCES, read_projection_state
from aex_settlement.rules.projections import Projection
from aex_work_publisher.repository import WORKS
from tests.services.settlement.journal.wholeness import ALL
from tests.simulation.actions.random_works import ExpectedContract, OpenWork
from tests.simulation.faults.partners import SOUND
from tests.simulation.promises.at_rest import check_at_rest
from tests.simulation.promises.changes import check_commit
from tests.simulation.promises.derived import check_settlement_projections, check_touched_projections
from tests.simulation.promises.histories import check_final_result, check_history
from tests.simulation.promises.promise import require_promise

if TYPE_CHECKING:
    from tests.simulation.world import World


async def check_invariants(world: "World") -> None:
    """Check the commits since the last call. It runs after every step, so it reads nothing else."""
    check_handlers(world)
    touched: set[str] = set()
    for commit in world.suite.environment.commit_log.take_new():
        check_commit(world.seen, commit)
        touched.update(each.collection for each in commit.changes)
    await check_touched_projections(world, touched)


def check_handlers(world: "World") -> None:
    """Check that every failed handler failed by an outage or by its own refusal."""
    unexpected_errors = world.suite.environment.commit_log.unexpected_errors
    require_promise(not unexpected_errors, "handlers fail for outages alone", "; ".join(unexpected_errors[:1]))


async def check_quiescent(world: "World") -> None:
    """Check at the end of a run that every contract has one end and is settled accordingly."""
    await check_invariants(world)
    for contract in world.expected_contracts:
        await _check_contract(world, contract)
    for open_work in world.open_works:
        await _check_open_work(world, open_work)
    await _check_closed_books(world)
    await check_at_rest(world)


async def _check_contract(world: "World", contract: ExpectedContract) -> None:
    """Check that a contract has an end and that its settlement is within the quote."""
    seen, contract_id = world.seen, contract.contract_id
    row, outcome = seen.contracts.get(contract_id), seen.outcomes.get(contract_id)
    require_promise(row is not None, "nothing accepted is lost", f"{contract_id} is gone")
    if row is None:
        return
    require_promise(row.state.is_final, "every contract comes to an end", f"{contract_id} is {row.state.status}")
    await check_history(world.suite.verification.memory, row)
    settled = contract_id in seen.settlements
    await _check_work(world, contract, row.state.status)
    if row.state.status is ContractStatus.CANCELLED:
        require_promise(outcome is None and not settled, "what is cancelled costs nothing", contract_id)
        return
    require_promise(settled, "a contract is settled exactly once", f"{contract_id} was not settled")
    require_promise(
        outcome is not None, "a contract is settled exactly once", f"{contract_id} ended without an outcome"
    )
    if outcome is not None:
        total = outcome.billing_impact.total
        within = Decimal(contract.least) <= total <= Decimal(contract.most)
        require_promise(
            within, "a total is within its quote", f"{total} is outside {contract.least} to {contract.most}"
        )
        check_final_result(outcome, contract.verifier)


async def _check_work(world: "World", contract: ExpectedContract, status: ContractStatus) -> None:
    """Check that the work shows the end of its contract."""
    found = await WORKS.get(world.suite.publisher.memory, key_of(contract.work_id))
    expected = WorkStatus.CANCELLED if status is ContractStatus.CANCELLED else WorkStatus.COMPLETED
    there = found is not None and found.record.status is expected
    require_promise(there, "a work ends with its contract", f"{contract.work_id} of a contract that is {status}")


async def _check_open_work(world: "World", open_work: OpenWork) -> None:
    """Check that sound custom code was accepted and faulty code refused, despite outages of the sandbox."""
    found = await WORKS.get(world.suite.publisher.memory, key_of(open_work.work_id))
    assert found is not None, f"{open_work.work_id} was lost"
    record = found.record
    require_promise(record.status is not WorkStatus.CHECKING, "every work is checked", open_work.work_id)
    refused = record.status is WorkStatus.REFUSED
    sound = open_work.code is None or SOUND in open_work.code
    cancelled = record.status is WorkStatus.CANCELLED
    require_promise(
        refused is not sound or cancelled, "sound code alone is let through", f"{open_work.code} is {record.status}"
    )
    if refused:
        require_promise(bool(record.check and record.check.problems), "a refusal says why", open_work.work_id)


async def _check_closed_books(world: "World") -> None:
    sealed = len((await check_settlement_projections(world, at_head=True)).sealed)
    posted = len(world.seen.created.get(TRANSACTIONS.collection.name, ()))
    require_promise(sealed == posted, "everything booked is sealed", f"{sealed} of {posted}")
    await _check_trial_balance(world)


async def _check_trial_balance(world: "World") -> None:
    store = world.suite.settlement.memory
    if await read_journal_head(store) is None:
        return  # nothing was ever booked
    state = await read_projection_state(store, Projection.ACCOUNTS)
    assert state is not None, "the books were never opened"
    of_generation = {"generation": state.generation}
    sums: dict[str, int] = {}
    for each in await BALANCES.find(store, of_generation, limit=ALL):
        sums[each.record.currency] = sums.get(each.record.currency, 0) + each.record.balance
    require_promise(not any(sums.values()), "postings sum to zero", f"the balances sum to {sums}")
