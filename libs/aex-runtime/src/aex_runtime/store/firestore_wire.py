"""Documents and writes as Firestore's messages.

The plain protobuf classes: the wrappers that Google's client puts around them halve what one process can do.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from google.cloud.firestore_v1.types import BatchGetDocumentsRequest, CommitRequest, Value

from aex_runtime.store.buffer import Place, Write
from aex_runtime.store.firestore_commit import Step
from aex_runtime.store.firestore_layout import (
    ABSENT,
    BODY,
    EXPIRES,
    FIELDS,
    NONCE,
    NONCE_BYTES,
    RECORD,
    absent_of,
    expires_at,
)
from aex_runtime.store.port import Document, Scalar, StoreError

_BatchGet: Any = BatchGetDocumentsRequest.pb()
_Commit: Any = CommitRequest.pb()
_Value: Any = Value.pb()
_NANOS = 1_000_000_000
_MICROS = 1_000_000


@dataclass(frozen=True, slots=True)
class Database:
    """Where documents are: project and database."""

    project: str
    name: str

    @property
    def path(self) -> str:
        """The database's resource name."""
        return f"projects/{self.project}/databases/{self.name}"

    @property
    def root(self) -> str:
        """What its collections lie under."""
        return f"{self.path}/documents"

    def document(self, place: Place) -> str:
        """A document's resource name."""
        return f"{self.root}/{place[0]}/{place[1]}"


def batch_get(database: Database, places: Sequence[Place], *, versions_only: bool) -> Any:
    """A request for documents, or for no more of them than their versions."""
    request = _BatchGet(database=database.path, documents=[database.document(place) for place in places])
    if versions_only:
        request.mask.SetInParent()  # no fields
    return request


def commit(database: Database, steps: Sequence[Step]) -> Any:
    """A request that takes all steps, or none where one of its conditions does not hold."""
    request = _Commit(database=database.path)
    for step in steps:
        _add_step(request.writes.add(), database.document(step.place), step)
    return request


def value_of(scalar: Scalar) -> Any:
    """An index value."""
    if scalar is None:
        return _Value(null_value=0)
    if isinstance(scalar, bool):
        return _Value(boolean_value=scalar)
    return _Value(integer_value=scalar) if isinstance(scalar, int) else _Value(string_value=scalar)


def document_of(message: Any) -> Document:
    """A stored document. Raises `StoreError` for one that this store did not write."""
    path, _, key = message.name.rpartition("/")
    record = message.fields[RECORD].map_value.fields
    if BODY not in record or FIELDS not in record:
        raise StoreError(f"{path.rpartition('/')[2]}/{key}: this store has not written it")
    absent = {value.string_value for value in record[ABSENT].array_value.values}
    fields = {name: _scalar_of(value) for name, value in record[FIELDS].map_value.fields.items() if name not in absent}
    return Document(key, record[BODY].bytes_value, fields, version_of(message))


def version_of(message: Any) -> int:
    """A document's version: nanoseconds since 1970 at its last change."""
    return int(message.update_time.seconds * _NANOS + message.update_time.nanos)


def _add_step(message: Any, name: str, step: Step) -> None:
    if step.write is not None and step.write.kind != "delete":
        message.update.name = name
        _fill(message.update.fields[RECORD].map_value.fields, step.write)
        micros = expires_at(step.write)
        if micros is not None:
            moment = message.update.fields[EXPIRES].timestamp_value
            moment.seconds, moment.nanos = micros // _MICROS, micros % _MICROS * 1_000
    elif step.write is not None or step.version == 0:
        message.delete = name  # to delete what must not be there does nothing: a check
    else:
        message.update.name = name
        message.update_mask.SetInParent()  # an update of no field does nothing: a check
    if step.version == 0:
        message.current_document.exists = False
    elif step.version is not None:
        update_time = message.current_document.update_time
        update_time.seconds, update_time.nanos = divmod(step.version, _NANOS)


def _fill(record: Any, write: Write) -> None:
    record[BODY].bytes_value = write.body
    record[NONCE].bytes_value = secrets.token_bytes(NONCE_BYTES)
    fields = record[FIELDS].map_value
    fields.SetInParent()  # there, though it be empty
    for name, value in write.fields.items():
        fields.fields[name].MergeFrom(value_of(value))
    for name in absent_of(write.collection, write.fields):
        fields.fields[name].null_value = 0
        record[ABSENT].array_value.values.add(string_value=name)


def _scalar_of(value: Any) -> Scalar:
    kind = value.WhichOneof("value_type")
    scalar: Scalar = None if kind == "null_value" else getattr(value, kind)
    return scalar
