"""Transitions of a work's status.

A function `apply_…` returns the new record, or the given object if nothing changes. A function `require_…` raises an
error for a forbidden step.
"""

from decimal import Decimal

from aex_models.contract import Award
from aex_models.money import format_amount
from aex_models.work import Problem, WorkStatus
from aex_runtime.errors import Conflict, Forbidden, InvalidRequest
from aex_work_publisher.rules.records import StoredCheck, WorkRecord

_CHECKED_SOON_S = 2
_UNAWARDED = {WorkStatus.CHECKING, WorkStatus.OPEN}


class OtherContract(Exception):
    """Error for an event of a contract that is not the work's."""


class NotAwardedYet(Exception):
    """Error for an event of a contract that arrived before the work's award was stored."""


def require_rate_within_max(record: WorkRecord, cpc_rate: Decimal) -> None:
    """Raise `InvalidRequest` for a rate above the budget's `max_cpc`."""
    most = record.work.budget.max_cpc
    if cpc_rate > most:
        message = f"cpc_rate is at most the work's max_cpc of {format_amount(most)}"
        problem = Problem(path="/cpc_rate", code="cpc_rate_above_max", message=message)
        raise InvalidRequest("cpc_rate_above_max", message, [problem])


def require_claims_allowed(record: WorkRecord) -> None:
    """Raise `Forbidden` if the work's consumer does not allow agents to claim it."""
    if not record.work.allow_claims:
        raise Forbidden("claims_not_allowed", "this work is awarded by its consumer")


def apply_award(record: WorkRecord, award: Award) -> WorkRecord:
    """Return the work as awarded under this award. Raises `Conflict` if it is not open."""
    if record.status is WorkStatus.CHECKING:
        message = "the work is checking, not open: its custom metrics are being tried; award it once it is open"
        raise Conflict("work_not_open", message, retry_after_s=_CHECKED_SOON_S)
    if record.status is not WorkStatus.OPEN:
        raise Conflict("work_not_open", f"the work is {record.status.value}, not open")
    moved = _with_status(record, WorkStatus.AWARDED)
    return moved.model_copy(update={"contract_id": award.contract_id, "agent_id": award.agent_id})


def apply_cancellation(record: WorkRecord) -> WorkRecord:
    """Return the work as cancelled by its consumer. Raises `Conflict` after an award or a refusal."""
    if record.status in _UNAWARDED:
        return _with_status(record, WorkStatus.CANCELLED)
    if record.status is WorkStatus.CANCELLED:
        return record
    raise Conflict("work_not_cancellable", f"the work is {record.status.value}: it can no longer be cancelled")


def apply_check(record: WorkRecord, ok: bool, check: StoredCheck) -> WorkRecord:
    """Return the work with verification's first check of it; a later check changes nothing.

    A work in status `checking` becomes open, or refused if `ok` is false. Another status stays, and the check is
    stored if it has findings.
    """
    if record.check is not None:
        return record
    checked = record.model_copy(update={"check": check})
    if record.status is WorkStatus.CHECKING:
        return _with_status(checked, WorkStatus.OPEN if ok else WorkStatus.REFUSED)
    return checked if check.problems or check.warnings else record


def apply_contract_end(record: WorkRecord, contract_id: str, status: WorkStatus) -> WorkRecord:
    """Return an awarded work in the status in which its contract ended; another status stays.

    Raises `NotAwardedYet` before the award, and `OtherContract` for a contract that is not the work's.
    """
    if record.contract_id is None:
        raise NotAwardedYet
    if record.contract_id != contract_id:
        raise OtherContract
    return _with_status(record, status) if record.status is WorkStatus.AWARDED else record


def _with_status(record: WorkRecord, status: WorkStatus) -> WorkRecord:
    return record.model_copy(update={"work": record.work.model_copy(update={"status": status})})
