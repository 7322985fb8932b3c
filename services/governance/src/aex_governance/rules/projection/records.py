"""The records of the append-only log. Everything else that governance remembers can be made from them anew."""

from aex_models.frozen import Frozen, Instant
from aex_models.governance import ValidationDecision, ValidationRequest


class ValidationRecord(Frozen):
    """What was asked about one attempt and what was decided, for good."""

    request: ValidationRequest
    """Without the texts, and cut to what a document holds: the hash and the sketch tell outputs apart."""
    decision: ValidationDecision
    decided_at: Instant
    is_free: bool = False
    """Whether its output was free text: only such outputs are looked for again."""
    sketch: str | None = None
    """The text's sketch, as `sketch.encoded` writes it."""
    generations: tuple[int, ...] = ()
    """The generations of projections that it is folded into: kept by whoever folds, in the same transaction."""


class OutcomeEntry(Frozen):
    """How one contract ended."""

    contract_id: str
    agent_id: str
    consumer_id: str
    domain: str
    final_status: str
    success: bool
    flags: tuple[str, ...] = ()
    occurred_at: Instant
    generations: tuple[int, ...] = ()
    """As in a validation's record."""


LogRecord = ValidationRecord | OutcomeEntry
