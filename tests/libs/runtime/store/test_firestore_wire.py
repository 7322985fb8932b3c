"""Documents and queries as Firestore's messages."""

from typing import Any

import pytest
from google.cloud.firestore_v1.types import Document as DocumentMessage
from hypothesis import given
from hypothesis import strategies as st

from aex_runtime.store.buffer import Write
from aex_runtime.store.firestore_commit import Step
from aex_runtime.store.firestore_layout import document_bytes, request_bytes
from aex_runtime.store.firestore_queries import Page, page_of, run_query
from aex_runtime.store.firestore_wire import Database, commit, document_of
from aex_runtime.store.port import Bound, Collection, Direction, Document, Fields, Index, Query, Scalar, StoreError

DATABASE = Database("my-project", "my-data")
WORKS = Collection("works", (Index(("state",), "due"),))
SCALARS: st.SearchStrategy[Scalar] = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(max_size=20)


def sent(write: Write, version: int | None = None) -> Any:
    (message,) = commit(DATABASE, [Step(write.place, write, version)]).writes
    return message


@given(
    st.binary(max_size=50),
    st.dictionaries(st.sampled_from(["state", "due", "other"]), SCALARS),
    st.integers(0, 2**32),
    st.integers(0, 999_999),
)
def test_document_comes_back_as_it_was_written(body: bytes, fields: Fields, seconds: int, micros: int) -> None:
    message = sent(Write("put", WORKS, "k", body, fields)).update
    message.update_time.seconds, message.update_time.nanos = seconds, micros * 1_000
    version = seconds * 1_000_000_000 + micros * 1_000
    assert document_of(message) == Document("k", body, fields, version)
    if version:
        condition = sent(Write("update", WORKS, "k"), version).current_document
        assert condition.update_time == message.update_time


@given(st.binary(max_size=200), st.dictionaries(st.sampled_from(["state", "due", "other"]), SCALARS))
def test_what_is_sent_is_no_larger_than_what_is_counted(body: bytes, fields: Fields) -> None:
    write = Write("put", WORKS, "k" * 100, body, fields)
    longest = Database("a" * 30, "b" * 63)
    (message,) = commit(longest, [Step(write.place, write, 2**60)]).writes
    assert message.ByteSize() <= request_bytes(write)
    assert document_bytes(write) >= len(body)


def test_equal_writes_are_not_the_same_write() -> None:
    write = Write("put", WORKS, "k", b"1")
    assert sent(write) != sent(write)


def test_document_of_somebody_else_is_refused_without_telling_what_it_holds() -> None:
    message = DocumentMessage.pb()(name=DATABASE.document(("works", "k")))
    message.fields["secret"].string_value = "secret"
    with pytest.raises(StoreError, match=r"^works/k: this store has not written it$"):
        document_of(message)


def test_checks_change_nothing() -> None:
    there, absent = commit(DATABASE, [Step(("works", "a"), None, 7), Step(("works", "b"), None, 0)]).writes
    assert there.HasField("update_mask")
    assert not there.update_mask.field_paths
    assert not there.update.fields
    assert absent.delete.endswith("/works/b")
    assert absent.current_document.exists is False
    assert absent.current_document.HasField("exists")


@pytest.mark.parametrize(
    ("bounds", "direction", "after", "expected"),
    [
        ((), "asc", None, Page(None)),
        ((), "asc", (None, "k"), Page(None)),
        ((), "desc", (None, "k"), None),
        ((), "desc", (5, "k"), Page((5, "k"))),
        ((Bound(">=", 2),), "asc", (1, "k"), Page(None)),
        ((Bound(">=", 2),), "asc", (2, "k"), Page((2, "k"))),
        ((Bound(">", 2),), "asc", (2, "k"), Page(None)),
        ((Bound(">", 2),), "desc", (2, "k"), None),
        ((Bound("<", 9),), "asc", (9, "k"), None),
        ((Bound("<", 9),), "desc", (9, "k"), Page(None)),
        ((Bound("<", 9),), "desc", ("text", "k"), Page(None)),
        ((Bound(">", 3), Bound("<", 2)), "asc", None, None),
        ((Bound(">", 2), Bound("<=", 2)), "asc", None, None),
        ((Bound(">=", 2), Bound("<=", 2)), "asc", None, Page(None)),
        ((Bound(">=", 1), Bound("<=", "z")), "asc", None, None),
    ],
)
def test_cursor_is_sent_only_where_the_bounds_do_not_say_it(
    bounds: tuple[Bound, ...], direction: Direction, after: tuple[Scalar, str] | None, expected: Page | None
) -> None:
    assert page_of(Query(WORKS, {"state": "x"}, "due", direction, bounds, after)) == expected


def test_order_ends_in_the_name_and_in_one_direction() -> None:
    request = run_query(DATABASE, Query(WORKS, {"state": "x"}, "due", "desc", after=(5, "k"), limit=2**40))
    assert request is not None
    asked = request.structured_query
    assert [each.field.field_path for each in asked.order_by] == ["record.fields.due", "__name__"]
    assert len({each.direction for each in asked.order_by}) == 1
    assert asked.start_at.values[1].reference_value == "projects/my-project/databases/my-data/documents/works/k"
    assert asked.limit.value == 2**31 - 1


KEYS = Collection("keys", (Index(order="until"),), expires="until")


@given(st.integers(0, 2**50))
def test_what_expires_carries_its_time_beside_the_record(micros: int) -> None:
    message = sent(Write("put", KEYS, "k", b"1", {"until": micros})).update
    moment = message.fields["expires"].timestamp_value
    assert moment.seconds * 1_000_000 + moment.nanos // 1_000 == micros
    assert document_of(message).fields == {"until": micros}


@pytest.mark.parametrize(("collection", "fields"), [(WORKS, {"due": 5}), (KEYS, {}), (KEYS, {"until": None})])
def test_what_does_not_expire_carries_no_time(collection: Collection, fields: Fields) -> None:
    assert set(sent(Write("put", collection, "k", b"1", fields)).update.fields) == {"record"}


def test_the_time_is_counted_with_the_document() -> None:
    plain = Collection("keys", KEYS.indexes)
    lasting, expiring = (Write("put", each, "k", b"1", {"until": 5}) for each in (plain, KEYS))
    assert document_bytes(expiring) - document_bytes(lasting) == len("expires") + 1 + 8
