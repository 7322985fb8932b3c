"""Requests to Firestore and documents in its responses, as plain protobuf messages.

Google's wrapper classes would halve the throughput.
"""

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from google.cloud.firestore_v1 import types
from google.cloud.firestore_v1.types import StructuredQuery

from aex_runtime.store import firestore_layout as layout
from aex_runtime.store.firestore_documents import DocumentStep
from aex_runtime.store.ordering import Edge, index_sort_key, tightest_edges
from aex_runtime.store.port import Comparison, Document, DocumentKey, Query, Scalar, StoreError, Write

_BatchGet: Any = types.BatchGetDocumentsRequest.pb()
_Commit: Any = types.CommitRequest.pb()
_Value: Any = types.Value.pb()
_RunQuery: Any = types.RunQueryRequest.pb()
_Filter: Any = StructuredQuery.Filter.pb()
_Operator = StructuredQuery.FieldFilter.Operator
_Unary = StructuredQuery.UnaryFilter.Operator
_Direction = StructuredQuery.Direction
_MAX_LIMIT = 2**31 - 1
_AFTER_NULL = Edge((1, 0), inclusive=True)  # ordered queries find no nulls
# An equality of the ordered field as a range, so that the index of ranges serves it.
_OPERATORS: dict[Comparison, tuple[int, ...]] = {
    "==": (_Operator.GREATER_THAN_OR_EQUAL, _Operator.LESS_THAN_OR_EQUAL),
    "<": (_Operator.LESS_THAN,),
    "<=": (_Operator.LESS_THAN_OR_EQUAL,),
    ">": (_Operator.GREATER_THAN,),
    ">=": (_Operator.GREATER_THAN_OR_EQUAL,),
}
_NANOS = 1_000_000_000
_MICROS = 1_000_000


@dataclass(frozen=True, slots=True)
class FirestoreDatabase:
    """A database of a project, and the resource names in it."""

    project: str
    name: str

    @property
    def path(self) -> str:
        """Resource name of the database."""
        return f"projects/{self.project}/databases/{self.name}"

    def document_path(self, key: DocumentKey) -> str:
        """Return the resource name of a document."""
        return f"{self.path}/documents/{key[0]}/{key[1]}"


def build_batch_get_request(database: FirestoreDatabase, keys: Sequence[DocumentKey], *, versions_only: bool) -> Any:
    """Build the request that reads documents, or only their versions."""
    request = _BatchGet(database=database.path, documents=[database.document_path(key) for key in keys])
    if versions_only:
        request.mask.SetInParent()  # no fields
    return request


def build_commit_request(database: FirestoreDatabase, steps: Sequence[DocumentStep]) -> Any:
    """Build the request that applies all steps, or none if a document lacks its required version."""
    request = _Commit(database=database.path)
    for step in steps:
        _add_step(request.writes.add(), database.document_path(step.key), step)
    return request


def encode_value(scalar: Scalar) -> Any:
    """Return an index field's value as a protobuf message."""
    if scalar is None:
        return _Value(null_value=0)
    if isinstance(scalar, bool):
        return _Value(boolean_value=scalar)
    return _Value(integer_value=scalar) if isinstance(scalar, int) else _Value(string_value=scalar)


def decode_document(message: Any) -> Document:
    """Return the document that a protobuf message holds.

    Raises `StoreError` for a document that another program wrote.
    """
    path, _, key = message.name.rpartition("/")
    record = message.fields[layout.RECORD].map_value.fields
    if layout.BODY not in record or layout.FIELDS not in record:
        raise StoreError(f"{path.rpartition('/')[2]}/{key}: not written by this store; remove it from the database")
    absent = {value.string_value for value in record[layout.ABSENT].array_value.values}
    fields = {
        name: _scalar_of(value) for name, value in record[layout.FIELDS].map_value.fields.items() if name not in absent
    }
    return Document(key, record[layout.BODY].bytes_value, fields, document_version(message))


def document_version(message: Any) -> int:
    """Return the version in a document's message: the nanoseconds since 1970 of its last change."""
    return int(message.update_time.seconds * _NANOS + message.update_time.nanos)


def _add_step(message: Any, name: str, step: DocumentStep) -> None:
    if step.write is not None and step.write.kind != "delete":
        message.update.name = name
        _fill(message.update.fields[layout.RECORD].map_value.fields, step.write)
        micros = layout.expiry_micros(step.write)
        if micros is not None:
            moment = message.update.fields[layout.EXPIRES].timestamp_value
            moment.seconds, moment.nanos = micros // _MICROS, micros % _MICROS * 1_000
    elif step.write is not None or step.version == 0:
        message.delete = name  # deleting an absent document does nothing: a check
    else:
        message.update.name = name
        message.update_mask.SetInParent()  # updating no field does nothing: a check
    if step.version == 0:
        message.current_document.exists = False
    elif step.version is not None:
        update_time = message.current_document.update_time
        update_time.seconds, update_time.nanos = divmod(step.version, _NANOS)


def _fill(record: Any, write: Write) -> None:
    record[layout.BODY].bytes_value = write.body
    record[layout.NONCE].bytes_value = secrets.token_bytes(layout.NONCE_BYTES)
    fields = record[layout.FIELDS].map_value
    fields.SetInParent()  # present even if empty
    for name, value in write.fields.items():
        fields.fields[name].MergeFrom(encode_value(value))
    for name in layout.missing_index_fields(write.collection, write.fields):
        fields.fields[name].null_value = 0
        record[layout.ABSENT].array_value.values.add(string_value=name)


def _scalar_of(value: Any) -> Scalar:
    kind = value.WhichOneof("value_type")
    return None if kind == "null_value" else cast(Scalar, getattr(value, kind))


def build_query_request(database: FirestoreDatabase, query: Query) -> Any | None:
    """Build the request for a query that `check_query` accepted; return None if no document can match.

    Documents with equal values are ordered by name, in the direction of the query, as in its indexes.
    """
    start = find_start_position(query)
    if start == "nowhere":
        return None
    request = _RunQuery(parent=f"{database.path}/documents")
    structured = request.structured_query
    structured.from_.add(collection_id=query.collection.name)
    filters = list(_filters(query))
    if len(filters) == 1:
        structured.where.CopyFrom(filters[0])
    elif filters:
        structured.where.composite_filter.op = StructuredQuery.CompositeFilter.Operator.AND
        structured.where.composite_filter.filters.extend(filters)
    direction = _Direction.ASCENDING if query.direction == "asc" else _Direction.DESCENDING
    for path in (*((layout.index_field_path(query.order),) if query.order else ()), "__name__"):
        structured.order_by.add(field={"field_path": path}, direction=direction)
    if start != "bounds":
        value, key = start
        if query.order is not None:
            structured.start_at.values.append(encode_value(value))
        structured.start_at.values.add(reference_value=database.document_path((query.collection.name, key)))
        structured.start_at.before = False
    structured.limit.value = min(query.limit, _MAX_LIMIT)
    return request


def find_start_position(query: Query) -> tuple[Scalar, str] | Literal["bounds", "nowhere"]:
    """Return where the results of a query start.

    A pair of ordered value and key: behind this document, which is the query's `after`. `bounds`: at the start of the
    bounds. `nowhere`: no document can match. The pair is returned only if it is within the bounds, because Firestore
    would let it override them.
    """
    low, high = tightest_edges(query.bounds)
    low = low or _AFTER_NULL
    if high is not None and (low.value, not (low.inclusive and high.inclusive)) > (high.value, False):
        return "nowhere"
    if query.after is None or query.order is None:
        return query.after or "bounds"
    position = Edge(index_sort_key(query.after[0]), inclusive=True)
    is_below, is_above = (
        position.lower_sort_key() < low.lower_sort_key(),
        high is not None and position.upper_sort_key() > high.upper_sort_key(),
    )
    is_before, is_behind = (is_below, is_above) if query.direction == "asc" else (is_above, is_below)
    if is_behind:
        return "nowhere"
    return "bounds" if is_before else query.after


def _filters(query: Query) -> Iterator[Any]:
    for name, value in query.equal.items():
        yield _unary(name, _Unary.IS_NULL) if value is None else _field(name, _Operator.EQUAL, value)
    if query.order is None:
        return
    for bound in query.bounds:
        for operator in _OPERATORS[bound.comparison]:
            yield _field(query.order, operator, bound.value)
    if not query.bounds:  # a range excludes nulls, the index does not
        yield _unary(query.order, _Unary.IS_NOT_NULL)


def _field(name: str, operator: int, value: Scalar) -> Any:
    return _Filter(
        field_filter={
            "field": {"field_path": layout.index_field_path(name)},
            "op": operator,
            "value": encode_value(value),
        }
    )


def _unary(name: str, operator: int) -> Any:
    return _Filter(unary_filter={"field": {"field_path": layout.index_field_path(name)}, "op": operator})
