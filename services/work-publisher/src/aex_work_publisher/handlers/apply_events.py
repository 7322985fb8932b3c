"""Handlers of events from other services that change the status of a work.

An event may arrive twice or too early. A repeated one finds the status already changed and does nothing.
"""

from collections.abc import Callable
from datetime import timedelta

import structlog

from aex_models.events import WorkChecked
from aex_models.work import WorkStatus
from aex_runtime.records import Poison, RetryLater
from aex_runtime.unit_of_work import Unit
from aex_work_publisher.deps import Deps
from aex_work_publisher.repository import read_work_in_unit, update_work
from aex_work_publisher.rules.records import StoredCheck, WorkRecord
from aex_work_publisher.rules.transitions import NotAwardedYet, OtherContract, apply_check, apply_contract_end

_EARLY = timedelta(seconds=5)
_log = structlog.get_logger(__name__)


async def open_or_refuse_work(deps: Deps, data: WorkChecked) -> None:
    """Store verification's check of a work (`work.checked`) for its consumer to read.

    A work in status `checking` becomes open, or refused if the check failed. Another status stays.
    """
    check = StoredCheck(problems=data.problems, warnings=data.warnings)
    await _apply(deps, data.work_id, lambda record: apply_check(record, data.ok, check))


async def complete_work(deps: Deps, work_id: str, contract_id: str) -> None:
    """Set an awarded work to `completed`, after the outcome of its contract (`outcome.verified`)."""
    await _apply(deps, work_id, lambda record: apply_contract_end(record, contract_id, WorkStatus.COMPLETED))


async def cancel_awarded_work(deps: Deps, work_id: str, contract_id: str) -> None:
    """Set an awarded work to `cancelled`, after its contract was cancelled (`contract.cancelled`)."""
    await _apply(deps, work_id, lambda record: apply_contract_end(record, contract_id, WorkStatus.CANCELLED))


async def _apply(deps: Deps, work_id: str, change: Callable[[WorkRecord], WorkRecord]) -> None:
    """Apply `change` to the work in one transaction, and log a change.

    Raises `RetryLater` if the work or its award is not stored yet, and `Poison` for an event of another contract.
    """

    async def move(unit: Unit) -> WorkRecord | None:
        stored = await read_work_in_unit(unit, work_id)
        if stored is None:
            raise RetryLater(_EARLY, f"{work_id} is not here yet")
        try:
            record = change(stored.record)
        except NotAwardedYet:
            raise RetryLater(_EARLY, f"{work_id} is not awarded yet") from None
        except OtherContract:
            raise Poison(f"{work_id} belongs to another contract") from None
        if record is stored.record:
            return None
        update_work(unit, stored, record)
        return record

    moved = await deps.unit_of_work.run(move)
    if moved is not None:
        _log.info("work_moved", work_id=work_id, contract_id=moved.contract_id, status=moved.status.value)
