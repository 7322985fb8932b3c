"""Ends of contracts without a new candidate: finalised, cancelled, declined or expired."""

from collections.abc import Awaitable, Callable

import structlog

from aex_models.contract import CancelCause, ContractStatus
from aex_models.events import ContractCancelled
from aex_outcomes.lifecycle.transitions import Refused, cancel_unstarted, expire_at_deadline, finalise_early
from aex_runtime.errors import Conflict
from aex_runtime.http.idempotency import Effect, IdempotentRequest, run_idempotent
from aex_runtime.store.port import key_of
from aex_runtime.telemetry import continue_caller_or_subject_trace
from aex_runtime.tracing.spans import build_span_attributes_of_ids
from aex_runtime.unit_of_work import Unit
from aex_verification.deps import Deps
from aex_verification.handlers.admit import load_or_open_contract, require_contract
from aex_verification.handlers.conclude import end_or_hold_closing_contract, write_and_publish_outcome
from aex_verification.handlers.save_contract import CONCLUDE, DEADLINE, save_contract_with_events
from aex_verification.measures import CONTRACTS_ENDED_TOTAL
from aex_verification.repository import AWARDS, CONTRACTS

_RETRY_AFTER_S = 2
_log = structlog.get_logger(__name__)


async def finalise_contract(deps: Deps, agent_id: str, contract_id: str, request: IdempotentRequest) -> Effect:
    """Settle a contract early with the best judged candidate, for its agent; once per idempotency key.

    Governance is called at once. Raises `NotFound`, and `Conflict` if no candidate is judged.
    """
    row = await load_or_open_contract(deps, contract_id, agent_id=agent_id)

    async def finalise(unit: Unit) -> str:
        stored = await require_contract(unit, contract_id)
        save_contract_with_events(unit, stored, finalise_early(stored.record.state, unit.now))
        # It is concluded right after this commit; the timer serves if the process ends in between.
        unit.set_timer(CONCLUDE, contract_id, unit.now + deps.policy.lease)
        return contract_id

    with continue_caller_or_subject_trace(
        row.traceparent, "finalise contract", build_span_attributes_of_ids(contract_id)
    ):
        effect = await run_contract_change(deps, contract_id, request, finalise)
        await end_or_hold_closing_contract(deps, contract_id)
    return effect


async def cancel_contract(deps: Deps, consumer_id: str, contract_id: str, request: IdempotentRequest) -> Effect:
    """Cancel a contract for its consumer before the first candidate, once per idempotency key.

    Emits `contract.cancelled`. Raises `NotFound`, and `Conflict` after the first candidate.
    """
    row = await load_or_open_contract(deps, contract_id, consumer_id=consumer_id)
    with continue_caller_or_subject_trace(
        row.traceparent, "cancel contract", build_span_attributes_of_ids(contract_id)
    ):
        return await _cancel_unstarted(deps, contract_id, request, None)


async def decline_contract(deps: Deps, agent_id: str, contract_id: str, request: IdempotentRequest) -> Effect:
    """Cancel a contract for its agent before the first candidate, with the cause `declined`.

    Emits `contract.cancelled`, once per idempotency key. Raises `NotFound`, and `Conflict` after the first candidate.
    """
    row = await load_or_open_contract(deps, contract_id, agent_id=agent_id)
    with continue_caller_or_subject_trace(
        row.traceparent, "decline contract", build_span_attributes_of_ids(contract_id)
    ):
        return await _cancel_unstarted(deps, contract_id, request, CancelCause.DECLINED)


async def _cancel_unstarted(
    deps: Deps, contract_id: str, request: IdempotentRequest, cause: CancelCause | None
) -> Effect:
    async def cancel(unit: Unit) -> str:
        stored = await require_contract(unit, contract_id)
        save_contract_with_events(unit, stored, cancel_unstarted(stored.record.state, unit.now, cause))
        unit.cancel_timer(DEADLINE, contract_id)
        event = ContractCancelled(contract_id=contract_id, work_id=stored.record.work_id, cause=cause)
        unit.emit("contract.cancelled", contract_id, event)
        unit.measures.count(CONTRACTS_ENDED_TOTAL, ContractStatus.CANCELLED)
        return contract_id

    effect = await run_contract_change(deps, contract_id, request, cancel)
    deps.subscribers.wake(contract_id)
    return effect


async def end_contract_if_deadline_passed(deps: Deps, contract_id: str) -> None:
    """End a contract whose deadline has passed; do nothing before it, or for an ended contract.

    If a candidate is judged, a timer is set that concludes the contract with the best one. Otherwise the contract
    expires and its outcome is written.
    """

    async def expire(unit: Unit) -> bool:
        stored = await unit.get(CONTRACTS, key_of(contract_id))
        awarded = await unit.get(AWARDS, key_of(contract_id))
        if stored is None or awarded is None:
            return False
        try:
            state = expire_at_deadline(stored.record.state, unit.now)
        except Refused as refusal:
            # Closed already, or a verdict in progress checks the deadline itself. A clock that was set back after the
            # timer came due must not lose the deadline.
            if refusal.code == "before_deadline":
                unit.set_timer(DEADLINE, contract_id, stored.record.state.deadline)
            return False
        if state.status is ContractStatus.EXPIRED:
            await write_and_publish_outcome(unit, awarded.record, state, None, None)
        else:
            unit.set_timer(CONCLUDE, contract_id, unit.now)
        save_contract_with_events(unit, stored, state)
        return True

    if await deps.unit_of_work.run(expire):
        _log.info("contract_expired", contract_id=contract_id)
        deps.subscribers.wake(contract_id)


async def run_contract_change(
    deps: Deps, contract_id: str, request: IdempotentRequest, change: Callable[[Unit], Awaitable[str]]
) -> Effect:
    """Run a change of a contract, once per idempotency key. Raises `Conflict` if the change is refused.

    If it is refused because the deadline has passed, the contract is expired too.
    """
    try:
        return await run_idempotent(deps.unit_of_work, request, change)
    except Refused as refusal:
        if refusal.code == "deadline_passed":
            await end_contract_if_deadline_passed(deps, contract_id)
        retry_after_s = _RETRY_AFTER_S if refusal.retry else None
        raise Conflict(refusal.code, str(refusal), retry_after_s=retry_after_s) from refusal
