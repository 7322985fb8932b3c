"""Keep how every contract ended: the history that later rules read."""

from aex_governance.deps import Deps
from aex_governance.repository import OUTCOMES, OutcomeEntry
from aex_models.events import OutcomeVerified
from aex_runtime.store.keys import key_of
from aex_runtime.unit_of_work import Unit


async def log_outcome(deps: Deps, event: OutcomeVerified) -> None:
    """Append the outcome, once for each contract."""
    outcome = event.outcome
    key = key_of(outcome.contract_id)
    result = outcome.verification_result

    async def append_once(unit: Unit) -> None:
        if await unit.get(OUTCOMES, key) is not None:
            return
        entry = OutcomeEntry(
            contract_id=outcome.contract_id,
            agent_id=outcome.agent_id,
            consumer_id=outcome.consumer_id,
            domain=outcome.domain,
            final_status=outcome.final_status.value,
            success=result is not None and result.success,
            flags=result.governance_flags if result else (),
            occurred_at=outcome.created_at,
        )
        unit.create(OUTCOMES, key, entry)

    await deps.unit_of_work.run(append_once)
