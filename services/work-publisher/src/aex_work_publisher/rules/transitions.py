"""Where a work may go from where it stands. Each function gives the next record, or the same where nothing is to do."""

from decimal import Decimal

from aex_models.contract import Award
from aex_models.money import format_amount
from aex_models.work import Problem, WorkStatus
from aex_runtime.errors import Conflict, Forbidden, InvalidRequest
from aex_work_publisher.rules.records import WorkCheck, WorkRecord

_CHECKED_SOON_S = 2
_UNAWARDED = {WorkStatus.CHECKING, WorkStatus.OPEN}


class OtherContract(Exception):
    """An event about a contract that is not this work's."""


class NotAwardedYet(Exception):
    """An event about a contract that this work does not know of yet."""


def check_price(record: WorkRecord, cpc_rate: Decimal) -> None:
    """Raise `InvalidRequest` for a rate above the budget's `max_cpc`."""
    most = record.work.budget.max_cpc
    if cpc_rate > most:
        message = f"cpc_rate is at most the work's max_cpc of {format_amount(most)}"
        problem = Problem(path="/cpc_rate", code="cpc_rate_above_max", message=message)
        raise InvalidRequest("cpc_rate_above_max", message, [problem])


def check_claimable(record: WorkRecord) -> None:
    """Raise `Forbidden` where the work's consumer wants to choose the agent itself."""
    if not record.work.allow_claims:
        raise Forbidden("claims_not_allowed", "this work is awarded by its consumer")


def awarded(record: WorkRecord, award: Award) -> WorkRecord:
    """The work, given away. Raises `Conflict` where it is not open."""
    if record.status is WorkStatus.CHECKING:
        message = "the work is checking, not open: its custom metrics are being tried; award it once it is open"
        raise Conflict("work_not_open", message, retry_after_s=_CHECKED_SOON_S)
    if record.status is not WorkStatus.OPEN:
        raise Conflict("work_not_open", f"the work is {record.status.value}, not open")
    moved = _at(record, WorkStatus.AWARDED)
    return moved.model_copy(update={"contract_id": award.contract_id, "agent_id": award.agent_id})


def cancelled(record: WorkRecord) -> WorkRecord:
    """The work, called off before an award. Raises `Conflict` after one."""
    if record.status in _UNAWARDED:
        return _at(record, WorkStatus.CANCELLED)
    if record.status is WorkStatus.CANCELLED:
        return record
    raise Conflict("work_not_cancellable", f"the work is {record.status.value}: it can no longer be cancelled")


def checked(record: WorkRecord, ok: bool, check: WorkCheck) -> WorkRecord:
    """The work after verification has tried it, once. Only one that is being checked moves, to open or refused.

    One that was open before, for it has no custom code, keeps what its consumer is to be warned of.
    """
    if record.check is not None:
        return record
    noted = record.model_copy(update={"check": check})
    if record.status is WorkStatus.CHECKING:
        return _at(noted, WorkStatus.OPEN if ok else WorkStatus.REFUSED)
    return noted if check.problems or check.warnings else record


def completed(record: WorkRecord, contract_id: str) -> WorkRecord:
    """The work with an outcome."""
    return _ended(record, contract_id, WorkStatus.COMPLETED)


def contract_cancelled(record: WorkRecord, contract_id: str) -> WorkRecord:
    """The work whose contract was called off before any candidate."""
    return _ended(record, contract_id, WorkStatus.CANCELLED)


def _ended(record: WorkRecord, contract_id: str, status: WorkStatus) -> WorkRecord:
    if record.contract_id is None:
        raise NotAwardedYet
    if record.contract_id != contract_id:
        raise OtherContract
    return _at(record, status) if record.status is WorkStatus.AWARDED else record


def _at(record: WorkRecord, status: WorkStatus) -> WorkRecord:
    return record.model_copy(update={"work": record.work.model_copy(update={"status": status})})
