"""Opening of contracts, by the event of their award or by a call to work-publisher before it arrives."""

import structlog

from aex_models.events import ContractAwarded
from aex_outcomes.lifecycle.transitions import create_state
from aex_runtime.errors import NotFound
from aex_runtime.store.port import key_of
from aex_runtime.store.table import Stored
from aex_runtime.telemetry import continue_subject_trace, current_trace_context
from aex_runtime.tracing.spans import build_span_attributes_of_ids
from aex_runtime.unit_of_work import Unit
from aex_verification.deps import Deps
from aex_verification.handlers.save_contract import DEADLINE
from aex_verification.repository import AWARDS, CONTRACTS
from aex_verification.rules.records import ContractRow

_MAX_ID = 128
"""Characters of the longest possible contract id."""
_log = structlog.get_logger(__name__)


async def open_awarded_contract(deps: Deps, awarded: ContractAwarded) -> None:
    """Open the contract of an award and set the timer of its deadline; a repeated award does nothing."""
    award, key = awarded.award, key_of(awarded.award.contract_id)

    async def open_once(unit: Unit) -> bool:
        if await unit.get(CONTRACTS, key):
            return False
        state = create_state(
            award.contract_id, awarded.work.verification.max_attempts, award.deadline, award.awarded_at
        )
        row = ContractRow(
            contract_id=award.contract_id,
            work_id=award.work_id,
            consumer_id=award.consumer.id,
            agent_id=award.agent_id,
            awarded_at=award.awarded_at,
            state=state,
            traceparent=current_trace_context().get("traceparent"),
        )
        unit.create(CONTRACTS, key, row)
        await unit.put_large(AWARDS, key, awarded)
        unit.set_timer(DEADLINE, award.contract_id, award.deadline)
        return True

    if await deps.unit_of_work.run(open_once):
        _log.info("contract_opened", contract_id=award.contract_id, work_id=award.work_id, agent_id=award.agent_id)


async def load_or_open_contract(
    deps: Deps, contract_id: str, agent_id: str | None = None, consumer_id: str | None = None
) -> ContractRow:
    """Return a contract, which is opened first if only work-publisher knows its award yet.

    The event of the award may arrive later than the first request. Raises `NotFound`, also if the contract is not that
    of the given `agent_id` or `consumer_id`.
    """
    stored = await CONTRACTS.get(deps.store, key_of(contract_id))
    if stored is None and contract_id.startswith("ctr_") and len(contract_id) <= _MAX_ID:
        found = await deps.awards.get(contract_id)
        if found is not None:
            with continue_subject_trace(found.traceparent, "open contract", build_span_attributes_of_ids(contract_id)):
                await open_awarded_contract(deps, found.awarded)
            stored = await CONTRACTS.get(deps.store, key_of(contract_id))
    row = stored.record if stored else None
    if row is None or agent_id not in {None, row.agent_id} or consumer_id not in {None, row.consumer_id}:
        raise NotFound("contract_not_found", "No such contract")
    return row


async def require_contract(unit: Unit, contract_id: str) -> Stored[ContractRow]:
    """Return the contract, read inside the unit's transaction. Raises `NotFound`."""
    stored = await unit.get(CONTRACTS, key_of(contract_id))
    if stored is None:
        raise NotFound("contract_not_found", "No such contract")
    return stored
