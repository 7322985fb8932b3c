"""A contract comes to its end without a new candidate: finalised, cancelled or expired."""

from collections.abc import Awaitable, Callable

import structlog

from aex_models.contract import ContractStatus
from aex_models.events import ContractCancelled
from aex_outcomes.lifecycle.transitions import Refused, cancelled, expiring, finalising
from aex_runtime.errors import Conflict, NotFound
from aex_runtime.http.idempotency import Effect, IdempotentRequest, run_idempotent
from aex_runtime.store.keys import key_of
from aex_runtime.store.table import Stored
from aex_runtime.telemetry import as_asked_or_in_trace_of
from aex_runtime.tracing.subjects import about
from aex_runtime.unit_of_work import Unit
from aex_verification.deps import Deps
from aex_verification.handlers.admit import contract_row
from aex_verification.handlers.conclude import conclude_contract
from aex_verification.handlers.finish import write_outcome
from aex_verification.handlers.save_contract import save_contract
from aex_verification.handlers.timers import CONCLUDE, DEADLINE
from aex_verification.measures import CONTRACTS_ENDED_TOTAL
from aex_verification.repository import AWARDS, CONTRACTS
from aex_verification.rules.records import ContractRow

_RETRY_AFTER_S = 2
log = structlog.get_logger()


async def finalise_contract(deps: Deps, agent_id: str, contract_id: str, request: IdempotentRequest) -> Effect:
    """The agent settles early with its best judged candidate. Raises `Conflict` with nothing judged."""
    row = await contract_row(deps, contract_id)
    if row.agent_id != agent_id:
        raise NotFound("contract_not_found", "No such contract")

    async def finalise(unit: Unit) -> str:
        stored = await _stored(unit, contract_id)
        save_contract(unit, stored, finalising(stored.record.state, unit.now))
        # Concluded right after this commit; the timer is for the case that the process ends in between.
        unit.set_timer(CONCLUDE, contract_id, unit.now + deps.policy.lease)
        return contract_id

    with as_asked_or_in_trace_of(row.traceparent, "finalise contract", about(contract_id)):
        effect = await _unless_refused(deps, contract_id, request, finalise)
        await conclude_contract(deps, contract_id)
    return effect


async def cancel_contract(deps: Deps, consumer_id: str, contract_id: str, request: IdempotentRequest) -> Effect:
    """The consumer takes the contract back before the first candidate. Raises `Conflict` afterwards."""
    row = await contract_row(deps, contract_id)
    if row.consumer_id != consumer_id:
        raise NotFound("contract_not_found", "No such contract")

    async def cancel(unit: Unit) -> str:
        stored = await _stored(unit, contract_id)
        save_contract(unit, stored, cancelled(stored.record.state, unit.now))
        unit.cancel_timer(DEADLINE, contract_id)
        event = ContractCancelled(contract_id=contract_id, work_id=stored.record.work_id)
        unit.emit("contract.cancelled", contract_id, event)
        unit.measures.count(CONTRACTS_ENDED_TOTAL, ContractStatus.CANCELLED)
        return contract_id

    with as_asked_or_in_trace_of(row.traceparent, "cancel contract", about(contract_id)):
        effect = await _unless_refused(deps, contract_id, request, cancel)
    deps.followers.wake(contract_id)
    return effect


async def expire_contract(deps: Deps, contract_id: str) -> None:
    """The deadline is over: close with the best judged candidate, or with nothing. No-op where it may not be."""

    async def expire(unit: Unit) -> bool:
        stored = await unit.get(CONTRACTS, key_of(contract_id))
        awarded = await unit.get(AWARDS, key_of(contract_id))
        if stored is None or awarded is None:
            return False
        try:
            state = expiring(stored.record.state, unit.now)
        except Refused as refusal:
            # Closed already, or a verdict is under way and will see the deadline itself; or the clock was set back
            # since the timer came due, which must not lose the deadline.
            if refusal.code == "before_deadline":
                unit.set_timer(DEADLINE, contract_id, stored.record.state.deadline)
            return False
        if state.status is ContractStatus.EXPIRED:
            await write_outcome(unit, awarded.record, state, None, None)
        else:
            unit.set_timer(CONCLUDE, contract_id, unit.now)
        save_contract(unit, stored, state)
        return True

    if await deps.unit_of_work.run(expire):
        log.info("contract_expired", contract_id=contract_id)
        deps.followers.wake(contract_id)


async def _unless_refused(
    deps: Deps, contract_id: str, request: IdempotentRequest, change: Callable[[Unit], Awaitable[str]]
) -> Effect:
    """Run the change; a refusal becomes a `Conflict`, and a deadline that is over acts now."""
    try:
        return await run_idempotent(deps.unit_of_work, request, change)
    except Refused as refusal:
        if refusal.code == "deadline_passed":
            await expire_contract(deps, contract_id)
        raise _conflict(refusal) from refusal


async def _stored(unit: Unit, contract_id: str) -> Stored[ContractRow]:
    stored = await unit.get(CONTRACTS, key_of(contract_id))
    if stored is None:
        raise NotFound("contract_not_found", "No such contract")
    return stored


def _conflict(refusal: Refused) -> Conflict:
    return Conflict(refusal.code, str(refusal), retry_after_s=_RETRY_AFTER_S if refusal.retry else None)
