"""Handlers of other services' events. They are idempotent by the work's state."""

from collections.abc import Callable
from datetime import timedelta

import structlog

from aex_models.events import WorkChecked
from aex_models.work import WorkStatus
from aex_runtime.records import Poison, RetryLater
from aex_runtime.unit_of_work import Unit
from aex_work_publisher.deps import Deps
from aex_work_publisher.repository import read_work, update_work
from aex_work_publisher.rules.records import StoredCheck, WorkRecord
from aex_work_publisher.rules.transitions import NotAwardedYet, OtherContract, apply_check, end_contract

_EARLY = timedelta(seconds=5)
_log = structlog.get_logger(__name__)


async def record_check(deps: Deps, data: WorkChecked) -> None:
    """`work.checked`: the work opens, or is refused; its consumer can read why."""
    check = StoredCheck(problems=data.problems, warnings=data.warnings)
    await _apply(deps, data.work_id, lambda record: apply_check(record, data.ok, check))


async def complete_work(deps: Deps, work_id: str, contract_id: str) -> None:
    """`outcome.verified`: the work is completed."""
    await _apply(deps, work_id, lambda record: end_contract(record, contract_id, WorkStatus.COMPLETED))


async def close_work(deps: Deps, work_id: str, contract_id: str) -> None:
    """`contract.cancelled`: the work is cancelled."""
    await _apply(deps, work_id, lambda record: end_contract(record, contract_id, WorkStatus.CANCELLED))


async def _apply(deps: Deps, work_id: str, change: Callable[[WorkRecord], WorkRecord]) -> None:
    """Apply `change` to the work in one transaction.

    Raises `RetryLater` for a missing work or award, `Poison` for another contract's event.
    """

    async def move(unit: Unit) -> WorkRecord | None:
        seen = await read_work(unit, work_id)
        if seen is None:
            raise RetryLater(_EARLY, f"{work_id} is not here yet")
        try:
            record = change(seen.record)
        except NotAwardedYet:
            raise RetryLater(_EARLY, f"{work_id} is not awarded yet") from None
        except OtherContract:
            raise Poison(f"{work_id} belongs to another contract") from None
        if record is seen.record:
            return None
        update_work(unit, seen, record)
        return record

    moved = await deps.unit_of_work.run(move)
    if moved is not None:
        _log.info("work_moved", work_id=work_id, contract_id=moved.contract_id, status=moved.status.value)
