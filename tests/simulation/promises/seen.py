"""Observations of a run so far, compared with the next change."""

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
    """Answer to a write under its idempotency key."""

    kind: str
    """Name of the request."""
    service: str
    ask: Callable[[IdempotentRequest], Awaitable[Any]]
    key: IdempotentRequest
    resource_id: str


@dataclass
class Observations:
    """Earlier observations."""

    attempts: dict[str, int] = field(default_factory=dict)
    """Attempts used, by contract."""
    finals: dict[str, ContractStatus] = field(default_factory=dict)
    contracts: dict[str, ContractRow] = field(default_factory=dict)
    hashes: dict[int, str] = field(default_factory=dict)
    """Hashes of the journal's batches, by number."""
    outcomes: dict[str, OutcomeRecord] = field(default_factory=dict)
    settlements: dict[str, Settlement] = field(default_factory=dict)
    effective: dict[str, int] = field(default_factory=dict)
    """Settlements minus reversals, by contract."""
    posted_sums: dict[str, dict[str, int]] = field(default_factory=dict)
    """Sums of a contract's transactions in micros, by contract and account."""
    sums: dict[str, int] = field(default_factory=dict)
    """Sums of all postings, by currency."""
    holds: dict[str, Hold] = field(default_factory=dict)
    """Current holds, by attempt."""
    words: dict[str, set[Action]] = field(default_factory=dict)
    """Decisions of governance's rules, by contract."""
    held: set[str] = field(default_factory=set)
    """Attempts on which a contract was held."""
    released: set[str] = field(default_factory=set)
    """Attempts whose hold was decided."""
    created: dict[str, set[str]] = field(default_factory=dict)
    """Keys of the documents that were ever created, by collection."""
    posted: dict[str, list[Candidate]] = field(default_factory=dict)
    """Posted candidates, by contract."""
    answers: list[Answer] = field(default_factory=list)
    poison: set[tuple[str, str | None]] = field(default_factory=set)
    """Services and the events that were thrown in to be refused (None: no event at all)."""
