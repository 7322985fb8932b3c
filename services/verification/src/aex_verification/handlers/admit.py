"""An award becomes a contract: by event, or read through where the event is still on its way."""

import structlog

from aex_models.events import ContractAwarded
from aex_outcomes.lifecycle.transitions import opened
from aex_runtime.errors import NotFound
from aex_runtime.store.keys import key_of
from aex_runtime.telemetry import current_trace, in_trace_of
from aex_runtime.tracing.subjects import about
from aex_runtime.unit_of_work import Unit
from aex_verification.deps import Deps
from aex_verification.handlers.timers import DEADLINE
from aex_verification.repository import AWARDS, CONTRACTS
from aex_verification.rules.records import ContractRow

log = structlog.get_logger()


_MAX_ID = 128
"""Characters: no id is longer, and an address can hold only so many."""


async def admit_contract(deps: Deps, awarded: ContractAwarded) -> None:
    """Open the contract, once; a repeated award changes nothing."""
    award = awarded.award
    key = key_of(award.contract_id)

    async def open_once(unit: Unit) -> bool:
        if await unit.get(CONTRACTS, key):
            return False
        state = opened(award.contract_id, awarded.work.verification.max_attempts, award.deadline, award.awarded_at)
        row = ContractRow(
            contract_id=award.contract_id,
            work_id=award.work_id,
            consumer_id=award.consumer.id,
            agent_id=award.agent_id,
            awarded_at=award.awarded_at,
            state=state,
            traceparent=current_trace().get("traceparent"),
        )
        unit.create(CONTRACTS, key, row)
        await unit.put_large(AWARDS, key, awarded)
        unit.set_timer(DEADLINE, award.contract_id, award.deadline)
        return True

    if await deps.unit_of_work.run(open_once):
        log.info("contract_opened", contract_id=award.contract_id, work_id=award.work_id, agent_id=award.agent_id)


async def contract_row(deps: Deps, contract_id: str) -> ContractRow:
    """The contract, admitted from work-publisher where its event has not come yet. Raises `NotFound`."""
    stored = await CONTRACTS.get(deps.store, key_of(contract_id))
    if stored is None and contract_id.startswith("ctr_") and len(contract_id) <= _MAX_ID:
        found = await deps.awards.get(contract_id)
        if found is not None:
            with in_trace_of(found.traceparent, "open contract", about(contract_id)):
                await admit_contract(deps, found.awarded)
            stored = await CONTRACTS.get(deps.store, key_of(contract_id))
    if stored is None:
        raise NotFound("contract_not_found", "No such contract")
    return stored.record
