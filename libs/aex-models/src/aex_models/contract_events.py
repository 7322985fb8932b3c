"""The events of a contract as its parties read them, numbered from 1."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from aex_models.contract import CancelCause, ContractStatus
from aex_models.frozen import Frozen, Instant


class ContractEventType(StrEnum):
    """The type of a contract event. All types but the first two end the contract."""

    VERIFICATION_REJECTED = "verification_rejected"
    """Rejection of a candidate; further attempts may follow."""
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
    **{ContractStatus(name): ContractEventType(name) for name in ("finalised", "failed", "expired", "cancelled")},
}
"""The type of a contract's last event by its final status."""

FINAL_EVENTS = frozenset(ENDINGS.values())
"""The event types that end a contract."""


PLATFORM_CODES = frozenset({"criteria_not_met", "science_not_passed", "rejected", "fatal"})
"""Codes of the platform's rejections. A named verifier's own code may hold a part of the output."""


class ContractEvent(Frozen):
    """A numbered event of a contract, such as a rejection or the end."""

    contract_id: str
    seq: Annotated[int, Field(ge=1)]
    """Number within the contract, from 1 without gaps; a stream resumes after it."""
    type: ContractEventType
    attempt_id: str | None = None
    """The attempt that the event is about; None if it is about no attempt."""
    attempts_used: int
    max_attempts: int
    attempt_counted: bool | None = None
    """True if a rejection used an attempt."""
    code: str | None = None
    """Code of a rejection: one of `PLATFORM_CODES`, or a verifier's own code. An unpaid delivery hides the latter."""
    message: str | None = None
    """Summary of a rejection's feedback; None at feedback level `none`."""
    cause: CancelCause | None = None
    """Cause of a cancellation by the agent."""
    occurred_at: Instant
