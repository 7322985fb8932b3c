"""What other services' events make of a work: idempotent by its state, whenever they arrive."""

from collections.abc import Callable
from datetime import timedelta

import structlog

from aex_models.events import WorkChecked
from aex_runtime.handlers import Poison, RetryLater
from aex_runtime.unit_of_work import Unit
from aex_work_publisher.deps import Deps
from aex_work_publisher.repository import read_work, update_work
from aex_work_publisher.rules.records import WorkCheck, WorkRecord
from aex_work_publisher.rules.transitions import NotAwardedYet, OtherContract, checked, completed, contract_cancelled

_EARLY = timedelta(seconds=5)
_log = structlog.get_logger(__name__)


async def record_check(deps: Deps, data: WorkChecked) -> None:
    """`work.checked`: the work opens, or is refused; its consumer can read why."""
    check = WorkCheck(problems=data.problems, warnings=data.warnings)
    await _move(deps, data.work_id, lambda record: checked(record, data.ok, check))


async def complete_work(deps: Deps, work_id: str, contract_id: str) -> None:
    """`outcome.verified`: the work is completed."""
    await _move(deps, work_id, lambda record: completed(record, contract_id))


async def close_work(deps: Deps, work_id: str, contract_id: str) -> None:
    """`contract.cancelled`: the work is cancelled."""
    await _move(deps, work_id, lambda record: contract_cancelled(record, contract_id))


async def _move(deps: Deps, work_id: str, change: Callable[[WorkRecord], WorkRecord]) -> None:
    """Raises `RetryLater` for a work or an award that is not here yet, `Poison` for another contract's event."""

    async def move(unit: Unit) -> WorkRecord | None:
        seen = await read_work(unit, work_id)
        if seen is None:
            raise RetryLater(_EARLY, f"{work_id} is not here yet")
        record = _changed(seen.record, change)
        if record is seen.record:
            return None
        update_work(unit, seen, record)
        return record

    moved = await deps.unit_of_work.run(move)
    if moved is not None:
        _log.info("work_moved", work_id=work_id, contract_id=moved.contract_id, status=moved.status.value)


def _changed(record: WorkRecord, change: Callable[[WorkRecord], WorkRecord]) -> WorkRecord:
    try:
        return change(record)
    except NotAwardedYet:
        raise RetryLater(_EARLY, f"{record.work.work_id} is not awarded yet") from None
    except OtherContract:
        raise Poison(f"{record.work.work_id} belongs to another contract") from None
