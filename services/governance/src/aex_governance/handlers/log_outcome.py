"""Keep how every contract ended: the history that later rules read."""

from aex_governance.deps import Deps
from aex_governance.handlers.remembering import recall, remember
from aex_governance.repository.log import OUTCOMES
from aex_governance.repository.projections import read_head
from aex_governance.rules.projection.increments import increments
from aex_governance.rules.projection.records import OutcomeEntry
from aex_models.events import OutcomeVerified
from aex_models.outcome import OutcomeRecord
from aex_runtime.store.keys import key_of
from aex_runtime.unit_of_work import Unit


async def log_outcome(deps: Deps, event: OutcomeVerified) -> None:
    """Append the outcome and count it, once for each contract."""
    entry = _entry(event.outcome)
    key, additions = key_of(entry.contract_id), increments(entry)

    async def append_once(unit: Unit) -> None:
        if await unit.get(OUTCOMES, key) is not None:
            return
        generations = (await read_head(unit.transaction)).generations
        remembered = await recall(unit, additions, generations)
        unit.create(OUTCOMES, key, entry.model_copy(update={"generations": generations}))
        remember(unit, remembered, additions, generations)

    await deps.unit_of_work.run(append_once)


def _entry(outcome: OutcomeRecord) -> OutcomeEntry:
    result = outcome.verification_result
    return OutcomeEntry(
        contract_id=outcome.contract_id,
        agent_id=outcome.agent_id,
        consumer_id=outcome.consumer_id,
        domain=outcome.domain,
        final_status=outcome.final_status.value,
        success=result is not None and result.success,
        flags=result.governance_flags if result else (),
        occurred_at=outcome.created_at,
    )
