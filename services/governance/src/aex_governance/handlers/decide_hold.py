"""Opening of holds, and the decisions of operators on them."""

from datetime import datetime

from aex_governance.deps import Deps
from aex_governance.measures import HOLDS_DECIDED_TOTAL, HOLDS_OPENED_TOTAL
from aex_governance.repository import (
    HOLD_TRACES,
    HOLDS,
    HOLDS_OF_RULES,
    VALIDATIONS,
    HoldTrace,
    build_rule_index_entries,
    hold_id_of,
)
from aex_governance.rules.evidence import require_valid_reason
from aex_models.events import OutcomeHeld, OutcomeReviewed
from aex_models.governance import Hold, HoldDecision, HoldStatus
from aex_runtime.errors import Conflict, NotFound
from aex_runtime.http.idempotency import Effect, IdempotentRequest, run_idempotent
from aex_runtime.store.port import key_of
from aex_runtime.telemetry import continue_caller_or_subject_trace, current_trace_context
from aex_runtime.tracing.spans import build_span_attributes_of_ids
from aex_runtime.unit_of_work import Unit


async def decide_hold(
    deps: Deps, operator_id: str, hold_id: str, decision: HoldDecision, request: IdempotentRequest
) -> Effect:
    """Record an operator's decision on a hold and emit `outcome.reviewed`, once per idempotency key.

    The effect's resource is the hold's id. Raises `NotFound`, `Conflict` if the hold is decided already, and
    `InvalidRequest` for a blank or long reason.
    """
    tidied = decision.model_copy(update={"reason": require_valid_reason(decision.reason)})

    async def decide_once(unit: Unit) -> str:
        stored = await unit.get(HOLDS, key_of(hold_id))
        if stored is None:
            raise NotFound("hold_not_found", "No such hold")
        if stored.record.status is HoldStatus.DECIDED:
            first = stored.record
            by = f"{first.decided_by} ({first.decision})" if first.decision else first.decided_by
            raise Conflict("already_decided", f"This hold was decided before by {by}; the first decision stands")
        decided = _decided_hold(stored.record, tidied, operator_id, unit.now)
        unit.update(HOLDS, stored, decided)
        for key, entry in build_rule_index_entries(decided).items():
            unit.put(HOLDS_OF_RULES, key, entry)
        unit.measures.count(HOLDS_DECIDED_TOTAL, tidied.decision)
        reviewed = OutcomeReviewed(
            hold_id=hold_id,
            contract_id=decided.contract_id,
            attempt_id=decided.attempt_id,
            decision=tidied.decision,
            reason=tidied.reason,
            by=operator_id,
        )
        unit.emit("outcome.reviewed", decided.contract_id, reviewed, hold_id)
        return hold_id

    opened = await HOLD_TRACES.get(deps.store, key_of(hold_id))
    with continue_caller_or_subject_trace(
        opened.record.traceparent if opened else None, "decide hold", build_span_attributes_of_ids(hold_id)
    ):
        return await run_idempotent(deps.unit_of_work, request, decide_once)


def _decided_hold(hold: Hold, decision: HoldDecision, operator_id: str, now: datetime) -> Hold:
    return hold.model_copy(
        update={
            "status": HoldStatus.DECIDED,
            "decision": decision.decision,
            "reason": decision.reason,
            "decided_by": operator_id,
            "decided_at": now,
        }
    )


async def open_hold(deps: Deps, event: OutcomeHeld) -> None:
    """Open a hold for the attempt of an `outcome.held` event; a repeated event changes nothing.

    Agent, consumer and work are taken from the attempt's validation, and stay unknown if there is none.
    """
    hold_id = hold_id_of(event.attempt_id)

    async def open_once(unit: Unit) -> None:
        if await unit.get(HOLDS, key_of(hold_id)) is not None:
            return
        stored = await unit.get(VALIDATIONS, key_of(event.attempt_id))
        request = stored.record.request if stored else None
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
        for key, entry in build_rule_index_entries(hold).items():
            unit.create(HOLDS_OF_RULES, key, entry)
        traceparent = current_trace_context().get("traceparent")
        if traceparent is not None:
            unit.create(HOLD_TRACES, key_of(hold_id), HoldTrace(traceparent=traceparent))
        unit.measures.count(HOLDS_OPENED_TOTAL, hold.cause)

    await deps.unit_of_work.run(open_once)
