"""Awards, claims and cancellations of works."""

from decimal import Decimal

import structlog
from structlog.contextvars import bind_contextvars

from aex_models.contract import AwardRequest
from aex_runtime.http.idempotency import Effect, IdempotentRequest, run_idempotent
from aex_runtime.identity.principals import Principal
from aex_runtime.store.table import Stored
from aex_runtime.telemetry import add_span_attributes, current_trace_context
from aex_runtime.tracing.spans import id_attributes
from aex_runtime.unit_of_work import Unit
from aex_work_publisher.deps import Deps
from aex_work_publisher.handlers.read_work import require_found, require_visible
from aex_work_publisher.measures import AWARDED_TOTAL
from aex_work_publisher.repository import find_work, insert_award, read_work, update_work
from aex_work_publisher.rules import transitions
from aex_work_publisher.rules.publication import awarded_contract, build_award
from aex_work_publisher.rules.records import WorkRecord
from aex_work_publisher.rules.transitions import check_claimable, check_price

_log = structlog.get_logger(__name__)


def create_award(
    deps: Deps, unit: Unit, seen: Stored[WorkRecord], contract_id: str, agent_id: str, cpc_rate: Decimal
) -> str:
    """Write award, work and event in the unit and return the contract's id.

    Raises `Conflict` if the work is not open.
    """
    award = build_award(seen.record, contract_id, agent_id, cpc_rate, deps.fee_rate, unit.now)
    trace = {"traceparent": current_trace_context().get("traceparent")}
    record = transitions.award(seen.record, award).model_copy(update=trace)
    update_work(unit, seen, record)
    insert_award(unit, award)
    unit.emit("contract.awarded", contract_id, awarded_contract(record, award))
    unit.measures.count(AWARDED_TOTAL)
    return contract_id


def log_award(effect: Effect, work_id: str, agent_id: str) -> None:
    """Log a new award, and bind its contract to the request's further log events."""
    bind_contextvars(contract_id=effect.resource_id)
    add_span_attributes(id_attributes(effect.resource_id))
    if not effect.is_replay:
        _log.info("work_awarded", work_id=work_id, contract_id=effect.resource_id, agent_id=agent_id)


async def award_work(
    deps: Deps, consumer: Principal, work_id: str, award_request: AwardRequest, request: IdempotentRequest
) -> Effect:
    """Award an open work at a rate within its budget; the effect names the contract.

    Raises `NotFound`, `InvalidRequest` for a rate above `max_cpc`, `Conflict` where the work is not open.
    """
    contract_id = deps.ids.new("ctr")

    async def award(unit: Unit) -> str:
        seen = require_visible(await read_work(unit, work_id), consumer)
        check_price(seen.record, award_request.cpc_rate)
        return create_award(deps, unit, seen, contract_id, award_request.agent_id, award_request.cpc_rate)

    effect = await run_idempotent(deps.unit_of_work, request, award)
    log_award(effect, work_id, award_request.agent_id)
    return effect


async def claim_work(deps: Deps, agent: Principal, work_id: str, request: IdempotentRequest) -> Effect:
    """Award an open work to the agent that asks, at its budget's `max_cpc`; the effect names the contract.

    Raises `NotFound`, `Forbidden` where the consumer allows no claims, `Conflict` where the work is not open.
    """
    contract_id = deps.ids.new("ctr")
    # An agent that saw the work open and lost the race gets a 409, not a 404.
    check_claimable(require_visible(await find_work(deps.store, work_id), agent).record)

    async def claim(unit: Unit) -> str:
        seen = require_found(await read_work(unit, work_id))
        return create_award(deps, unit, seen, contract_id, agent.id, seen.record.work.budget.max_cpc)

    effect = await run_idempotent(deps.unit_of_work, request, claim)
    log_award(effect, work_id, agent.id)
    return effect


async def cancel_work(deps: Deps, consumer: Principal, work_id: str, request: IdempotentRequest) -> Effect:
    """Cancel a work, idempotently. Raises `NotFound`, `Conflict` for an awarded or refused work."""

    async def cancel(unit: Unit) -> str:
        seen = require_visible(await read_work(unit, work_id), consumer)
        record = transitions.cancel(seen.record)
        if record is not seen.record:
            update_work(unit, seen, record)
        return work_id

    effect = await run_idempotent(deps.unit_of_work, request, cancel)
    if not effect.is_replay:
        _log.info("work_cancelled", work_id=work_id)
    return effect
