"""Database tables of work-publisher, and blobs with the secret evaluation data of works."""

import re

from aex_models.canonical import canonical_bytes
from aex_models.contract import Award
from aex_models.work import EvaluationBlob, EvaluationRef
from aex_runtime.artifacts import uploads_table
from aex_runtime.blobs.port import BlobCorrupt, BlobMissing, Blobs, BlobTooLarge
from aex_runtime.clock import epoch_micros
from aex_runtime.quotas import quotas_table
from aex_runtime.store.port import Collection, Fields, Index, Store, key_of
from aex_runtime.store.table import Stored, Table
from aex_runtime.unit_of_work import Unit
from aex_work_publisher.rules.records import WorkRecord


class EvaluationLost(Exception):
    """Error for evaluation data that should be stored and are missing or corrupt."""


EVALUATION_AREA = "evaluation"
DATA_AREA = "data"
ORDER = "created_at"
"""Index field by which lists of works are sorted."""
_ID = re.compile(r"[a-z]{1,8}_[0-9a-f]{32}", re.ASCII)


def _work_fields(record: WorkRecord) -> Fields:
    return {
        "consumer_id": record.consumer.id,
        "agent_id": record.agent_id,
        "status": record.status.value,
        ORDER: epoch_micros(record.work.created_at),
    }


WORKS = Table(
    Collection(
        "work-publisher-works",
        tuple(
            Index(tuple(equal.split()), ORDER, "desc")
            for equal in ("consumer_id", "consumer_id status", "agent_id", "agent_id status", "status")
        ),
    ),
    WorkRecord,
    _work_fields,
    frozenset({"input", "threshold"}),
)
AWARDS = Table(Collection("work-publisher-awards"), Award)
UPLOADS = uploads_table("work-publisher")
"""Records of the raw data files that consumers upload; their bytes are blobs in `DATA_AREA`.

Verification reads these blobs too.
"""
QUOTAS = quotas_table("work-publisher")

COLLECTIONS = (WORKS.collection, AWARDS.collection, UPLOADS.collection, QUOTAS.collection)
"""Every collection of the service, from which Firestore's index file is generated."""


async def find_committed_work(store: Store, work_id: str) -> Stored[WorkRecord] | None:
    """Return the work as last committed, read outside of any transaction; None if there is none."""
    return await WORKS.get(store, key_of(work_id)) if _ID.fullmatch(work_id) else None


async def read_work_in_unit(unit: Unit, work_id: str) -> Stored[WorkRecord] | None:
    """Return the work, read inside the unit's transaction; None if there is none."""
    return await unit.get(WORKS, key_of(work_id)) if _ID.fullmatch(work_id) else None


def insert_work(unit: Unit, record: WorkRecord) -> None:
    """Write a new work in the unit."""
    unit.create(WORKS, key_of(record.work.work_id), record)


def update_work(unit: Unit, stored: Stored[WorkRecord], record: WorkRecord) -> None:
    """Replace the `stored` work by `record` in the unit.

    The commit fails with a conflict if another writer changed the work since it was read.
    """
    unit.update(WORKS, stored, record)


async def find_award(store: Store, contract_id: str) -> Award | None:
    """Return the award of a contract as last committed; None if there is none."""
    found = await AWARDS.get(store, key_of(contract_id)) if _ID.fullmatch(contract_id) else None
    return found.record if found else None


def insert_award(unit: Unit, award: Award) -> None:
    """Write a new award in the unit. An award never changes."""
    unit.create(AWARDS, key_of(award.contract_id), award)


async def store_evaluation_data(blobs: Blobs, blob: EvaluationBlob) -> EvaluationRef:
    """Store a work's evaluation data as a blob, and return its digest and size.

    Only this service and verification read this area of the blob store.
    """
    content = {name: value for name, value in blob.model_dump(mode="json").items() if value is not None}
    stored = await blobs.put(EVALUATION_AREA, canonical_bytes(content))
    return EvaluationRef(digest=stored.digest, size=stored.size)


async def load_evaluation_data(blobs: Blobs, ref: EvaluationRef) -> EvaluationBlob:
    """Return the evaluation data of a work from its blob. Raises `EvaluationLost` if it is damaged."""
    try:
        content = await blobs.get(EVALUATION_AREA, ref.digest, max_bytes=ref.size)
    except (BlobMissing, BlobCorrupt, BlobTooLarge) as error:
        raise EvaluationLost(ref.digest) from error
    return EvaluationBlob.model_validate_json(content)
