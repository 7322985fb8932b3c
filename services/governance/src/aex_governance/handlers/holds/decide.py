"""Decide a hold, once, and tell verification."""

from datetime import datetime

from aex_governance.deps import Deps
from aex_governance.measures import HOLDS_DECIDED_TOTAL
from aex_governance.repository.holds import HOLD_TRACES, HOLDS, HOLDS_OF_RULES, holds_of_rules
from aex_governance.rules.reason import tidy_reason
from aex_models.events import OutcomeReviewed
from aex_models.governance import Hold, HoldDecision, HoldStatus
from aex_runtime.errors import Conflict, NotFound
from aex_runtime.http.idempotency import Effect, IdempotentRequest, run_idempotent
from aex_runtime.store.keys import key_of
from aex_runtime.telemetry import as_asked_or_in_trace_of
from aex_runtime.tracing.subjects import about
from aex_runtime.unit_of_work import Unit


async def decide_hold(
    deps: Deps, operator_id: str, hold_id: str, decision: HoldDecision, request: IdempotentRequest
) -> Effect:
    """Record the decision and tell verification. The first decision stands; a second raises `Conflict`.

    Raises `InvalidRequest` for a reason that says nothing, and `NotFound`.
    """
    stated = decision.model_copy(update={"reason": tidy_reason(decision.reason)})

    async def decide_once(unit: Unit) -> str:
        stored = await unit.get(HOLDS, key_of(hold_id))
        if stored is None:
            raise NotFound("hold_not_found", "No such hold")
        if stored.record.status is HoldStatus.DECIDED:
            raise Conflict("already_decided", _told(stored.record))
        decided = _decided(stored.record, stated, operator_id, unit.now)
        unit.update(HOLDS, stored, decided)
        for key, entry in holds_of_rules(decided).items():
            unit.put(HOLDS_OF_RULES, key, entry)
        unit.measures.count(HOLDS_DECIDED_TOTAL, stated.decision)
        unit.emit("outcome.reviewed", decided.contract_id, _review(decided, stated, operator_id), hold_id)
        return hold_id

    opened = await HOLD_TRACES.get(deps.store, key_of(hold_id))
    with as_asked_or_in_trace_of(opened.record.traceparent if opened else None, "decide hold", about(hold_id)):
        return await run_idempotent(deps.unit_of_work, request, decide_once)


def _decided(hold: Hold, decision: HoldDecision, operator_id: str, now: datetime) -> Hold:
    return hold.model_copy(
        update={
            "status": HoldStatus.DECIDED,
            "decision": decision.decision,
            "reason": decision.reason,
            "decided_by": operator_id,
            "decided_at": now,
        }
    )


def _review(hold: Hold, decision: HoldDecision, operator_id: str) -> OutcomeReviewed:
    return OutcomeReviewed(
        hold_id=hold.hold_id,
        contract_id=hold.contract_id,
        attempt_id=hold.attempt_id,
        decision=decision.decision,
        reason=decision.reason,
        by=operator_id,
    )


def _told(hold: Hold) -> str:
    word = "" if hold.decision is None else f" ({hold.decision.value})"
    return f"This hold was decided before by {hold.decided_by}{word}; the first decision stands"
