"""What was seen of a run so far: the next change is held against it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from aex_models.contract import Candidate, ContractStatus
from aex_models.governance import Action, Hold
from aex_models.outcome import OutcomeRecord
from aex_models.settlement import Settlement
from aex_runtime.http.idempotency import IdempotentRequest
from aex_verification.rules.records import ContractRow


@dataclass(frozen=True, slots=True)
class Answer:
    """What a write was answered, under its idempotency key."""

    kind: str
    """The name of what was asked for."""
    service: str
    ask: Callable[[IdempotentRequest], Awaitable[Any]]
    key: IdempotentRequest
    resource_id: str


@dataclass
class Seen:
    """What was seen before."""

    attempts: dict[str, int] = field(default_factory=dict)
    """Used, by contract."""
    finals: dict[str, ContractStatus] = field(default_factory=dict)
    contracts: dict[str, ContractRow] = field(default_factory=dict)
    hashes: dict[int, str] = field(default_factory=dict)
    """Of the journal's batches."""
    outcomes: dict[str, OutcomeRecord] = field(default_factory=dict)
    settlements: dict[str, Settlement] = field(default_factory=dict)
    standing: dict[str, int] = field(default_factory=dict)
    """By contract: bookings less reversals."""
    booked: dict[str, dict[str, int]] = field(default_factory=dict)
    """By contract: what all its transactions come to, by account, in micros."""
    sums: dict[str, int] = field(default_factory=dict)
    """Of all postings, by currency."""
    holds: dict[str, Hold] = field(default_factory=dict)
    """By attempt, as they are now."""
    words: dict[str, set[Action]] = field(default_factory=dict)
    """What governance's rules ever decided, by contract."""
    held: set[str] = field(default_factory=set)
    """Attempts on which a contract was held."""
    let_go: set[str] = field(default_factory=set)
    """Those of them on which it is held no longer."""
    created: dict[str, set[str]] = field(default_factory=dict)
    """Keys of the documents that were ever created, by collection."""
    posted: dict[str, list[Candidate]] = field(default_factory=dict)
    """By contract: what its agent has put in."""
    answers: list[Answer] = field(default_factory=list)
    poison: set[tuple[str, str | None]] = field(default_factory=set)
    """Services and the events that were thrown in to be refused (None: no event at all)."""
