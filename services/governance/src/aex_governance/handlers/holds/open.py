"""Put an attempt before the operators."""

from aex_governance.deps import Deps
from aex_governance.measures import HOLDS_OPENED_TOTAL
from aex_governance.repository.holds import HOLD_TRACES, HOLDS, HOLDS_OF_RULES, HoldTrace, hold_id_of, holds_of_rules
from aex_governance.repository.log import VALIDATIONS
from aex_models.events import OutcomeHeld
from aex_models.governance import Hold
from aex_runtime.store.keys import key_of
from aex_runtime.telemetry import current_trace
from aex_runtime.unit_of_work import Unit


async def open_hold(deps: Deps, event: OutcomeHeld) -> None:
    """Put the attempt before the operators, once. Whose it is, the log says, where governance was asked about it."""
    hold_id = hold_id_of(event.attempt_id)

    async def open_once(unit: Unit) -> None:
        if await unit.get(HOLDS, key_of(hold_id)) is not None:
            return
        asked = await unit.get(VALIDATIONS, key_of(event.attempt_id))
        request = asked.record.request if asked else None
        hold = Hold(
            hold_id=hold_id,
            contract_id=event.contract_id,
            attempt_id=event.attempt_id,
            cause=event.cause,
            flags=event.flags,
            held_at=unit.now,
            agent_id=request.agent.id if request else None,
            consumer_id=request.consumer.id if request else None,
            work_id=request.work_id if request else None,
            domain=request.domain if request else None,
        )
        unit.create(HOLDS, key_of(hold_id), hold)
        for key, entry in holds_of_rules(hold).items():
            unit.create(HOLDS_OF_RULES, key, entry)
        traceparent = current_trace().get("traceparent")
        if traceparent is not None:
            unit.create(HOLD_TRACES, key_of(hold_id), HoldTrace(traceparent=traceparent))
        unit.measures.count(HOLDS_OPENED_TOTAL, hold.cause)

    await deps.unit_of_work.run(open_once)
