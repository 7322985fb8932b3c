"""Awards of works by their consumers, claims by agents, and cancellations before an award."""

from decimal import Decimal

import structlog
from structlog.contextvars import bind_contextvars

from aex_models.contract import AwardRequest
from aex_runtime.http.idempotency import Effect, IdempotentRequest, run_idempotent
from aex_runtime.identity.principals import Principal
from aex_runtime.store.table import Stored
from aex_runtime.telemetry import add_span_attributes, current_trace_context
from aex_runtime.tracing.spans import build_span_attributes_of_ids
from aex_runtime.unit_of_work import Unit
from aex_work_publisher.deps import Deps
from aex_work_publisher.handlers.read_work import require_existing_work, require_visible_work
from aex_work_publisher.measures import AWARDED_TOTAL
from aex_work_publisher.repository import find_committed_work, insert_award, read_work_in_unit, update_work
from aex_work_publisher.rules import transitions
from aex_work_publisher.rules.publication import build_award, build_awarded_event
from aex_work_publisher.rules.records import WorkRecord
from aex_work_publisher.rules.transitions import require_claims_allowed, require_rate_within_max

_log = structlog.get_logger(__name__)


def create_award(
    deps: Deps, unit: Unit, stored: Stored[WorkRecord], contract_id: str, agent_id: str, cpc_rate: Decimal
) -> str:
    """Award the work to the agent, and return the id of the contract.

    Writes award and changed work, counts the award and emits `contract.awarded` in the unit. Raises `Conflict` if the
    work is not open.
    """
    award = build_award(stored.record, contract_id, agent_id, cpc_rate, deps.fee_rate, unit.now)
    trace = {"traceparent": current_trace_context().get("traceparent")}
    record = transitions.apply_award(stored.record, award).model_copy(update=trace)
    update_work(unit, stored, record)
    insert_award(unit, award)
    unit.emit("contract.awarded", contract_id, build_awarded_event(record, award))
    unit.measures.count(AWARDED_TOTAL)
    return contract_id


def log_new_award_and_bind_contract(effect: Effect, work_id: str, agent_id: str) -> None:
    """Log the award unless the request was a repeat; bind the contract's id to later log events."""
    bind_contextvars(contract_id=effect.resource_id)
    add_span_attributes(build_span_attributes_of_ids(effect.resource_id))
    if not effect.is_replay:
        _log.info("work_awarded", work_id=work_id, contract_id=effect.resource_id, agent_id=agent_id)


async def award_work(
    deps: Deps, consumer: Principal, work_id: str, award_request: AwardRequest, request: IdempotentRequest
) -> Effect:
    """Award an open work of this consumer to an agent, once per idempotency key.

    The effect's resource is the new contract's id. Raises `NotFound`, `InvalidRequest` for a rate above the work's
    `max_cpc`, and `Conflict` if the work is not open.
    """
    contract_id = deps.ids.new("ctr")

    async def award(unit: Unit) -> str:
        stored = require_visible_work(await read_work_in_unit(unit, work_id), consumer)
        require_rate_within_max(stored.record, award_request.cpc_rate)
        return create_award(deps, unit, stored, contract_id, award_request.agent_id, award_request.cpc_rate)

    effect = await run_idempotent(deps.unit_of_work, request, award)
    log_new_award_and_bind_contract(effect, work_id, award_request.agent_id)
    return effect


async def claim_work(deps: Deps, agent: Principal, work_id: str, request: IdempotentRequest) -> Effect:
    """Award an open work to the calling agent at the work's `max_cpc`, once per idempotency key.

    The effect's resource is the new contract's id. Raises `NotFound`, `Forbidden` if the consumer allows no claims, and
    `Conflict` if the work is not open.
    """
    contract_id = deps.ids.new("ctr")
    # An agent that saw the work open and lost the race gets a 409, not a 404.
    require_claims_allowed(require_visible_work(await find_committed_work(deps.store, work_id), agent).record)

    async def claim(unit: Unit) -> str:
        stored = require_existing_work(await read_work_in_unit(unit, work_id))
        return create_award(deps, unit, stored, contract_id, agent.id, stored.record.work.budget.max_cpc)

    effect = await run_idempotent(deps.unit_of_work, request, claim)
    log_new_award_and_bind_contract(effect, work_id, agent.id)
    return effect


async def cancel_work(deps: Deps, consumer: Principal, work_id: str, request: IdempotentRequest) -> Effect:
    """Cancel a work of this consumer before its award, once per idempotency key; a cancelled one stays so.

    Raises `NotFound`, and `Conflict` for a work that was awarded or refused.
    """

    async def cancel(unit: Unit) -> str:
        stored = require_visible_work(await read_work_in_unit(unit, work_id), consumer)
        record = transitions.apply_cancellation(stored.record)
        if record is not stored.record:
            update_work(unit, stored, record)
        return work_id

    effect = await run_idempotent(deps.unit_of_work, request, cancel)
    if not effect.is_replay:
        _log.info("work_cancelled", work_id=work_id)
    return effect
