"""What governance keeps, and the only place that knows the collections' names."""

from typing import Any

from aex_models.canonical import sha256_hex
from aex_models.frozen import Frozen, Instant
from aex_models.governance import Hold, ValidationDecision, ValidationRequest
from aex_runtime.clock import epoch_micros
from aex_runtime.store.port import Collection, Index
from aex_runtime.store.table import Table


class ValidationRecord(Frozen):
    """One entry of the append-only log: what was asked and what was decided, for good."""

    request: ValidationRequest
    """Without the output's text: its hash is enough to tell outputs apart."""
    decision: ValidationDecision
    decided_at: Instant


class OutcomeEntry(Frozen):
    """One entry of the append-only log: how a contract ended."""

    contract_id: str
    agent_id: str
    consumer_id: str
    domain: str
    final_status: str
    success: bool
    flags: tuple[str, ...] = ()
    occurred_at: Instant


def hold_id_of(attempt_id: str) -> str:
    """A hold is keyed by its attempt: a repeated event makes no second one."""
    return f"hold_{sha256_hex(attempt_id.encode())[:32]}"


def _hold_index(hold: Hold) -> dict[str, Any]:
    return {"status": hold.status.value, "held_at": epoch_micros(hold.held_at)}


VALIDATIONS = Table(Collection("governance-validations"), ValidationRecord)
OUTCOMES = Table(Collection("governance-outcomes"), OutcomeEntry)
HOLDS = Table(
    Collection("governance-holds", (Index((), "held_at", "desc"), Index(("status",), "held_at", "desc"))),
    Hold,
    _hold_index,
)
COLLECTIONS = (VALIDATIONS.collection, OUTCOMES.collection, HOLDS.collection)
"""All of them, for the indexes that Firestore needs."""
