"""Holds: made from `outcome.held`, decided once by an operator."""

from typing import Any

from aex_governance.deps import Deps
from aex_governance.repository import HOLDS, hold_id_of
from aex_models.audiences import project
from aex_models.events import OutcomeHeld, OutcomeReviewed
from aex_models.governance import Hold, HoldDecision, HoldStatus
from aex_runtime.errors import Conflict, NotFound
from aex_runtime.http.auth import Principal
from aex_runtime.http.idempotency import Effect, IdempotentRequest, run_idempotent
from aex_runtime.http.listing import list_page
from aex_runtime.http.pagination import PageRequest
from aex_runtime.store.keys import key_of
from aex_runtime.unit_of_work import Unit


async def open_hold(deps: Deps, event: OutcomeHeld) -> None:
    """Put the attempt before the operators, once."""
    hold_id = hold_id_of(event.attempt_id)

    async def open_once(unit: Unit) -> None:
        if await unit.get(HOLDS, key_of(hold_id)) is not None:
            return
        hold = Hold(
            hold_id=hold_id,
            contract_id=event.contract_id,
            attempt_id=event.attempt_id,
            cause=event.cause,
            flags=event.flags,
            held_at=unit.now,
        )
        unit.create(HOLDS, key_of(hold_id), hold)

    await deps.unit_of_work.run(open_once)


async def decide_hold(
    deps: Deps, operator_id: str, hold_id: str, decision: HoldDecision, request: IdempotentRequest
) -> Effect:
    """Record the decision and tell verification. The first decision stands; a second raises `Conflict`."""

    async def decide_once(unit: Unit) -> str:
        stored = await unit.get(HOLDS, key_of(hold_id))
        if stored is None:
            raise NotFound("hold_not_found", "No such hold")
        if stored.record.status is HoldStatus.DECIDED:
            raise Conflict("already_decided", "This hold was decided before; the first decision stands")
        decided = stored.record.model_copy(
            update={
                "status": HoldStatus.DECIDED,
                "decision": decision.decision,
                "reason": decision.reason,
                "decided_by": operator_id,
                "decided_at": unit.now,
            }
        )
        unit.update(HOLDS, stored, decided)
        review = OutcomeReviewed(
            hold_id=hold_id,
            contract_id=decided.contract_id,
            attempt_id=decided.attempt_id,
            decision=decision.decision,
            reason=decision.reason,
            by=operator_id,
        )
        unit.emit("outcome.reviewed", decided.contract_id, review, hold_id)
        return hold_id

    return await run_idempotent(deps.unit_of_work, request, decide_once)


async def list_holds(deps: Deps, reader: Principal, paging: PageRequest, status: HoldStatus | None) -> dict[str, Any]:
    """A page of holds, newest first, all or those in one status."""

    async def render(hold: Hold) -> dict[str, Any]:
        return project(hold, reader.role)

    equal = {"status": status.value} if status else {}
    return await list_page(deps.store, HOLDS, paging, render, equal=equal, order="held_at")


async def get_hold(deps: Deps, hold_id: str) -> Hold:
    """One hold. Raises `NotFound`."""
    stored = await HOLDS.get(deps.store, key_of(hold_id))
    if stored is None:
        raise NotFound("hold_not_found", "No such hold")
    return stored.record
