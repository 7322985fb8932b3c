"""Collections of work-publisher, and the blobs of evaluation data."""

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
    """Missing or corrupt evaluation data: the installation has lost content."""


EVALUATION_AREA = "evaluation"
DATA_AREA = "data"
ORDER = "created_at"
"""The order of lists of works."""
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
)
AWARDS = Table(Collection("work-publisher-awards"), Award)
UPLOADS = uploads_table("work-publisher")
"""Consumers' raw data. Verification reads the bytes in `DATA_AREA` too."""
QUOTAS = quotas_table("work-publisher")

COLLECTIONS = (WORKS.collection, AWARDS.collection, UPLOADS.collection, QUOTAS.collection)
"""Every collection, for Firestore's indexes."""


async def find_work(store: Store, work_id: str) -> Stored[WorkRecord] | None:
    """Return the work as last committed."""
    return await WORKS.get(store, key_of(work_id)) if _ID.fullmatch(work_id) else None


async def read_work(unit: Unit, work_id: str) -> Stored[WorkRecord] | None:
    """Return the work inside a transaction."""
    return await unit.get(WORKS, key_of(work_id)) if _ID.fullmatch(work_id) else None


def create_work(unit: Unit, record: WorkRecord) -> None:
    """Write a new work."""
    unit.create(WORKS, key_of(record.work.work_id), record)


def update_work(unit: Unit, seen: Stored[WorkRecord], record: WorkRecord) -> None:
    """Write a changed work. Raises a conflict if another writer was first."""
    unit.update(WORKS, seen, record)


async def find_award(store: Store, contract_id: str) -> Award | None:
    """Return the award of a contract."""
    found = await AWARDS.get(store, key_of(contract_id)) if _ID.fullmatch(contract_id) else None
    return found.record if found else None


def insert_award(unit: Unit, award: Award) -> None:
    """Write an award. It is never changed."""
    unit.create(AWARDS, key_of(award.contract_id), award)


async def put_evaluation(blobs: Blobs, blob: EvaluationBlob) -> EvaluationRef:
    """Store evaluation data where only verification and this service may read them."""
    content = {name: value for name, value in blob.model_dump(mode="json").items() if value is not None}
    stored = await blobs.put(EVALUATION_AREA, canonical_bytes(content))
    return EvaluationRef(digest=stored.digest, size=stored.size)


async def get_evaluation(blobs: Blobs, ref: EvaluationRef) -> EvaluationBlob:
    """Return the evaluation data of a work. Raises `EvaluationLost`."""
    try:
        content = await blobs.get(EVALUATION_AREA, ref.digest, max_bytes=ref.size)
    except (BlobMissing, BlobCorrupt, BlobTooLarge) as error:
        raise EvaluationLost(ref.digest) from error
    return EvaluationBlob.model_validate_json(content)
