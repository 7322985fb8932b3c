from typing import Any

import pytest
from google.cloud.firestore_v1.types import Document as DocumentMessage
from hypothesis import given
from hypothesis import strategies as st

from aex_runtime.store import port
from aex_runtime.store.firestore_documents import DocumentStep
from aex_runtime.store.firestore_layout import document_bytes, max_bytes_in_commit
from aex_runtime.store.firestore_messages import (
    FirestoreDatabase,
    build_commit_request,
    build_query_request,
    decode_document,
    find_start_position,
)
from aex_runtime.store.port import Bound, Collection, Direction, Document, Fields, Index, Query, Scalar, Write

DATABASE = FirestoreDatabase("my-project", "my-data")
WORKS = Collection("works", (Index(("state",), "due"),))
SCALARS: st.SearchStrategy[Scalar] = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(max_size=20)


def sent(write: Write, version: int | None = None) -> Any:
    (message,) = build_commit_request(DATABASE, [DocumentStep(write.document_key, write, version)]).writes
    return message


@given(
    st.binary(max_size=50),
    st.dictionaries(st.sampled_from(["state", "due", "other"]), SCALARS),
    st.integers(0, 2**32),
    st.integers(0, 999_999),
)
def test_document_is_read_as_written(body: bytes, fields: Fields, seconds: int, micros: int) -> None:
    message = sent(Write("put", WORKS, "k", body, fields)).update
    message.update_time.seconds, message.update_time.nanos = seconds, micros * 1_000
    version = seconds * 1_000_000_000 + micros * 1_000
    assert decode_document(message) == Document("k", body, fields, version)
    if version:
        condition = sent(Write("update", WORKS, "k"), version).current_document
        assert condition.update_time == message.update_time


@given(st.binary(max_size=200), st.dictionaries(st.sampled_from(["state", "due", "other"]), SCALARS))
def test_request_is_no_larger_than_counted(body: bytes, fields: Fields) -> None:
    write = Write("put", WORKS, "k" * 100, body, fields)
    longest = FirestoreDatabase("a" * 30, "b" * 63)
    (message,) = build_commit_request(longest, [DocumentStep(write.document_key, write, 2**60)]).writes
    assert message.ByteSize() <= max_bytes_in_commit(write)
    assert document_bytes(write) >= len(body)


def test_equal_writes_differ_by_their_nonce() -> None:
    write = Write("put", WORKS, "k", b"1")
    assert sent(write) != sent(write)


def test_foreign_document_is_refused_without_its_content() -> None:
    message = DocumentMessage.pb()(name=DATABASE.document_path(("works", "k")))
    message.fields["secret"].string_value = "secret"
    with pytest.raises(port.StoreError, match=r"^works/k: not written by this store; remove it from the database$"):
        decode_document(message)


def test_checks_change_nothing() -> None:
    there, absent = build_commit_request(
        DATABASE, [DocumentStep(("works", "a"), None, 7), DocumentStep(("works", "b"), None, 0)]
    ).writes
    assert there.HasField("update_mask")
    assert not there.update_mask.field_paths
    assert not there.update.fields
    assert absent.delete.endswith("/works/b")
    assert absent.current_document.exists is False
    assert absent.current_document.HasField("exists")


@pytest.mark.parametrize(
    ("bounds", "direction", "after", "expected"),
    [
        ((), "asc", None, "bounds"),
        ((), "asc", (None, "k"), "bounds"),
        ((), "desc", (None, "k"), "nowhere"),
        ((), "desc", (5, "k"), (5, "k")),
        ((Bound(">=", 2),), "asc", (1, "k"), "bounds"),
        ((Bound(">=", 2),), "asc", (2, "k"), (2, "k")),
        ((Bound(">", 2),), "asc", (2, "k"), "bounds"),
        ((Bound(">", 2),), "desc", (2, "k"), "nowhere"),
        ((Bound("<", 9),), "asc", (9, "k"), "nowhere"),
        ((Bound("<", 9),), "desc", (9, "k"), "bounds"),
        ((Bound("<", 9),), "desc", ("text", "k"), "bounds"),
        ((Bound(">", 3), Bound("<", 2)), "asc", None, "nowhere"),
        ((Bound(">", 2), Bound("<=", 2)), "asc", None, "nowhere"),
        ((Bound(">=", 2), Bound("<=", 2)), "asc", None, "bounds"),
        ((Bound(">=", 1), Bound("<=", "z")), "asc", None, "nowhere"),
    ],
)
def test_cursor_is_sent_only_within_the_bounds(
    bounds: tuple[Bound, ...], direction: Direction, after: tuple[Scalar, str] | None, expected: object
) -> None:
    assert find_start_position(Query(WORKS, {"state": "x"}, "due", direction, bounds, after)) == expected


def test_order_ends_in_the_name_and_in_one_direction() -> None:
    request = build_query_request(DATABASE, Query(WORKS, {"state": "x"}, "due", "desc", after=(5, "k"), limit=2**40))
    assert request is not None
    structured = request.structured_query
    assert [each.field.field_path for each in structured.order_by] == ["record.fields.due", "__name__"]
    assert len({each.direction for each in structured.order_by}) == 1
    assert structured.start_at.values[1].reference_value == "projects/my-project/databases/my-data/documents/works/k"
    assert structured.limit.value == 2**31 - 1


KEYS = Collection("keys", (Index(order="until"),), expires="until")


@given(st.integers(0, 2**50))
def test_expiry_is_beside_the_record(micros: int) -> None:
    message = sent(Write("put", KEYS, "k", b"1", {"until": micros})).update
    moment = message.fields["expires"].timestamp_value
    assert moment.seconds * 1_000_000 + moment.nanos // 1_000 == micros
    assert decode_document(message).fields == {"until": micros}


@pytest.mark.parametrize(("collection", "fields"), [(WORKS, {"due": 5}), (KEYS, {}), (KEYS, {"until": None})])
def test_lasting_document_has_no_expiry(collection: Collection, fields: Fields) -> None:
    assert set(sent(Write("put", collection, "k", b"1", fields)).update.fields) == {"record"}


def test_expiry_is_counted_with_the_document() -> None:
    plain = Collection("keys", KEYS.indexes)
    lasting, expiring = (Write("put", each, "k", b"1", {"until": 5}) for each in (plain, KEYS))
    assert document_bytes(expiring) - document_bytes(lasting) == len("expires") + 1 + 8
