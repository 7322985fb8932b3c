"""A consumer calls its work off before it is awarded."""

import structlog

from aex_runtime.http.idempotency import Effect, IdempotentRequest, run_idempotent
from aex_runtime.identity.principal import Principal
from aex_runtime.unit_of_work import Unit
from aex_work_publisher.deps import Deps
from aex_work_publisher.handlers.read_work import visible
from aex_work_publisher.repository import read_work, update_work
from aex_work_publisher.rules.transitions import cancelled

_log = structlog.get_logger(__name__)


async def cancel_work(deps: Deps, consumer: Principal, work_id: str, request: IdempotentRequest) -> Effect:
    """Cancel a work; a cancelled one stays so. Raises `NotFound`, and `Conflict` once it was awarded or refused."""

    async def cancel(unit: Unit) -> str:
        seen = visible(await read_work(unit, work_id), consumer)
        record = cancelled(seen.record)
        if record is not seen.record:
            update_work(unit, seen, record)
        return work_id

    effect = await run_idempotent(deps.unit_of_work, request, cancel)
    if not effect.replayed:
        _log.info("work_cancelled", work_id=work_id)
    return effect
