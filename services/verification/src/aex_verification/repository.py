"""Database tables of verification. No other module knows the names of its collections."""

from typing import Any

from aex_models.contract import Candidate
from aex_models.contract_events import ContractEvent
from aex_models.events import ContractAwarded
from aex_models.outcome import OutcomeRecord
from aex_runtime.artifacts import uploads_table
from aex_runtime.clock import epoch_micros
from aex_runtime.quotas import quotas_table
from aex_runtime.store.port import Collection, Index, key_of
from aex_runtime.store.table import Table
from aex_verification.rules.candidates import ArtifactUse
from aex_verification.rules.checks import WorkCheckRecord
from aex_verification.rules.outcomes import is_paid_or_successful
from aex_verification.rules.records import AttemptRow, ContractRow, FinalResult

PARTIES = ("agent_id", "consumer_id")

_PARTIES = (
    Index(("agent_id",), "created_at", "desc"),
    Index(("consumer_id",), "created_at", "desc"),
    Index((), "created_at", "desc"),
)

_PARTIES_OLDEST_FIRST = tuple(Index(index.equal, index.order) for index in _PARTIES)

_PARTIES_BY_STATUS = tuple(Index((*index.equal, "status"), index.order, index.direction) for index in _PARTIES)

_BY_WORK = tuple(Index((*index.equal, "work_id"), index.order, index.direction) for index in _PARTIES)
"""Indexes by work. A work has one contract, so further filters are compared with its record."""

_BY_DOMAIN = tuple(
    Index((*equal, "domain"), "created_at", "desc") for equal in ((), ("agent_id",), ("consumer_id",), PARTIES)
)


def _contract_index(row: ContractRow) -> dict[str, Any]:
    return {
        "agent_id": row.agent_id,
        "consumer_id": row.consumer_id,
        "work_id": row.work_id,
        "status": row.state.status.value,
        "created_at": epoch_micros(row.awarded_at),
    }


IS_PAID = "is_paid"
"""Field of outcomes that tells whether the consumer pays, without loading an output of megabytes."""


def _outcome_index(record: OutcomeRecord) -> dict[str, Any]:
    named = {name: getattr(record, name) for name in (*PARTIES, "work_id", "domain")}
    return named | {IS_PAID: is_paid_or_successful(record), "created_at": epoch_micros(record.created_at)}


def event_key(contract_id: str, seq: int) -> str:
    """Return the key of a contract event; keys of one contract sort by event number."""
    return f"{key_of(contract_id)}-{seq:06d}"


CONTRACTS = Table(
    Collection("verification-contracts", _PARTIES + _PARTIES_BY_STATUS + _BY_WORK), ContractRow, _contract_index
)
AWARDS = Table(Collection("verification-awards"), ContractAwarded, opaque_fields=frozenset({"input", "threshold"}))
ATTEMPTS = Table(
    Collection("verification-attempts", (Index(("contract_id",), "created_at", "asc"),)),
    AttemptRow,
    lambda row: {"contract_id": row.contract_id, "created_at": epoch_micros(row.received_at) + row.operator_retries},
)
CANDIDATES = Table(Collection("verification-candidates"), Candidate, opaque_fields=frozenset({"output"}))
FINAL_RESULTS = Table(Collection("verification-final-results"), FinalResult)
"""Results of named verifiers, by the key of the attempt."""
OUTCOMES = Table(
    Collection(
        "verification-outcomes",
        (*_PARTIES, Index(PARTIES, "created_at", "desc"), *_PARTIES_OLDEST_FIRST, *_BY_WORK, *_BY_DOMAIN),
    ),
    OutcomeRecord,
    _outcome_index,
    frozenset({"final_result", "execution_metadata", "threshold"}),
)
EVENTS = Table(
    Collection("verification-contract-events", (Index(("contract_id",), "seq", "asc"),)),
    ContractEvent,
    lambda event: {"contract_id": event.contract_id, "seq": event.seq},
)
CHECKS = Table(Collection("verification-checks"), WorkCheckRecord)
UPLOADS = uploads_table("verification")
"""Records of agents' artifacts; their bytes are blobs in `ARTIFACTS_AREA`."""
ARTIFACTS_AREA = "artifacts"
QUOTAS = quotas_table("verification")
ARTIFACT_USES = Table(
    Collection("verification-artifact-uses", (Index(("consumer_id", "digest"), "used_at", "desc"),)),
    ArtifactUse,
    lambda use: {"consumer_id": use.consumer_id, "digest": use.digest, "used_at": epoch_micros(use.used_at)},
)
COLLECTIONS = tuple(
    table.collection
    for table in (
        *(CONTRACTS, AWARDS, ATTEMPTS, CANDIDATES, FINAL_RESULTS),
        *(OUTCOMES, EVENTS, CHECKS, UPLOADS, QUOTAS, ARTIFACT_USES),
    )
)
"""Every collection of the service, from which Firestore's index file is generated."""
