"""What every award writes: the award, the work's new state, and the event that tells verification."""

from decimal import Decimal

import structlog
from structlog.contextvars import bind_contextvars

from aex_runtime.http.idempotency import Effect
from aex_runtime.store.table import Stored
from aex_runtime.telemetry import current_trace, describe_span
from aex_runtime.tracing.subjects import about
from aex_runtime.unit_of_work import Unit
from aex_work_publisher.deps import Deps
from aex_work_publisher.measures import AWARDED_TOTAL
from aex_work_publisher.repository import create_award, update_work
from aex_work_publisher.rules.awarding import award_of, awarded_contract
from aex_work_publisher.rules.records import WorkRecord
from aex_work_publisher.rules.transitions import awarded

_log = structlog.get_logger(__name__)


def give_work(
    deps: Deps, unit: Unit, seen: Stored[WorkRecord], contract_id: str, agent_id: str, cpc_rate: Decimal
) -> str:
    """Write the award of a work, all of it in the unit; the contract's id. Raises `Conflict` where it is not open."""
    award = award_of(seen.record, contract_id, agent_id, cpc_rate, deps.fee_rate, unit.now)
    record = awarded(seen.record, award).model_copy(update={"traceparent": current_trace().get("traceparent")})
    update_work(unit, seen, record)
    create_award(unit, award)
    unit.emit("contract.awarded", contract_id, awarded_contract(record, award))
    unit.measures.count(AWARDED_TOTAL)
    return contract_id


def log_award(effect: Effect, work_id: str, agent_id: str) -> None:
    """One line for each award that was made now; those of the request that follow name its contract, too."""
    bind_contextvars(contract_id=effect.resource_id)
    describe_span(about(effect.resource_id))
    if not effect.replayed:
        _log.info("work_awarded", work_id=work_id, contract_id=effect.resource_id, agent_id=agent_id)
