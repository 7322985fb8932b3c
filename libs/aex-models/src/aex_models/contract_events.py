"""What happens to a contract, as its parties follow it: one numbered document for each step (spec file 3)."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from aex_models.contract import ContractStatus
from aex_models.frozen import Frozen, Instant


class ContractEventType(StrEnum):
    """The steps; all but the first two are final."""

    VERIFICATION_REJECTED = "verification_rejected"
    """One candidate was rejected; there may be further attempts."""
    HELD = "held"
    """An operator has to decide."""
    VERIFICATION_PASSED = "verification_passed"
    VERIFICATION_EXHAUSTED = "verification_exhausted"
    FINALISED = "finalised"
    FAILED = "failed"
    EXPIRED = "expired"
    CANCELLED = "cancelled"


ENDINGS = {
    ContractStatus.PASSED: ContractEventType.VERIFICATION_PASSED,
    ContractStatus.EXHAUSTED: ContractEventType.VERIFICATION_EXHAUSTED,
    ContractStatus.FINALISED: ContractEventType.FINALISED,
    ContractStatus.FAILED: ContractEventType.FAILED,
    ContractStatus.EXPIRED: ContractEventType.EXPIRED,
    ContractStatus.CANCELLED: ContractEventType.CANCELLED,
}
"""The event of each final status."""

FINAL_EVENTS = frozenset(ENDINGS.values())
"""After one of these nothing more is told of the contract."""


class ContractEvent(Frozen):
    """One step of one contract."""

    contract_id: str
    seq: Annotated[int, Field(ge=1)]
    """Its number within the contract, without gaps from 1: the id that a stream is resumed after."""
    type: ContractEventType
    attempt_id: str | None = None
    """The attempt that it is about, where it is about one."""
    attempts_used: int
    max_attempts: int
    attempt_counted: bool | None = None
    """Of a rejection: whether it used an attempt."""
    code: str | None = None
    """Of a rejection: the verifier's code, or `criteria_not_met`."""
    message: str | None = None
    """Of a rejection: the feedback's summary; None at feedback level `none`."""
    occurred_at: Instant
