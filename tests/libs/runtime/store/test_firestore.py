import asyncio
import socket
from collections.abc import AsyncIterator

import pytest
import uvloop
from grpc import StatusCode

from aex_runtime.store.firestore import FirestoreStore
from aex_runtime.store.port import Contention, InvalidDocument, Query, StoreError, StoreUnavailable, Transaction
from aex_runtime.store.transactions import TransactionRetry
from tests.libs.runtime.store.firestore_peer import Peer, listening
from tests.store.contract import WORKS, write

ALL = Query(WORKS)
TRANSIENT = [StatusCode.UNAVAILABLE, StatusCode.INTERNAL, StatusCode.ABORTED]


@pytest.fixture
async def peer() -> AsyncIterator[Peer]:
    async with listening() as peer:
        yield peer


@pytest.fixture
async def store(peer: Peer) -> AsyncIterator[FirestoreStore]:
    store = FirestoreStore("my-project", emulator=peer.host, deadline_s=2.0, retry=TransactionRetry(tries=3, max_ms=1))
    yield store
    peer.held.set()
    await store.close()


async def put(transaction: Transaction) -> None:
    transaction.put(WORKS, "w1", b"1", {})


@pytest.mark.parametrize("code", TRANSIENT)
async def test_failed_read_is_tried_three_times(store: FirestoreStore, peer: Peer, code: StatusCode) -> None:
    peer.failures = [(code, "later")] * 2
    assert await store.get(WORKS, "w1") is None
    peer.failures = [(code, "later")] * 3
    with pytest.raises(StoreUnavailable, match=f"my-project.*BatchGetDocuments: {code.name}: later"):
        await store.get(WORKS, "w1")
    assert peer.calls["BatchGetDocuments"] == 6


@pytest.mark.parametrize("code", [StatusCode.CANCELLED, StatusCode.INTERNAL, StatusCode.UNAVAILABLE])
async def test_commit_without_an_answer_is_not_retried(store: FirestoreStore, peer: Peer, code: StatusCode) -> None:
    peer.failures = [(code, "who knows")]
    with pytest.raises(StoreUnavailable, match=f"Commit: {code.name}: who knows"):
        await store.transact(put)
    assert peer.calls["Commit"] == 1


async def test_aborted_commit_is_retried(store: FirestoreStore, peer: Peer) -> None:
    peer.failures = [(StatusCode.ABORTED, "too much contention")] * 2
    await store.transact(put)
    assert peer.calls["Commit"] == 3
    peer.failures = [(StatusCode.ABORTED, "too much contention")] * 3
    with pytest.raises(Contention):
        await store.transact(put)


@pytest.mark.parametrize(
    ("code", "fix"),
    [
        (StatusCode.NOT_FOUND, "the database does not exist: create it, or correct the store's URL"),
        (StatusCode.PERMISSION_DENIED, "roles/datastore.user"),
        (StatusCode.UNAUTHENTICATED, "credentials of a service account"),
        (StatusCode.FAILED_PRECONDITION, "deploy/firestore.indexes.json"),
    ],
)
async def test_outage_names_the_operators_fix(store: FirestoreStore, peer: Peer, code: StatusCode, fix: str) -> None:
    for use in (store.get(WORKS, "w1"), store.query_page(ALL), store.transact(put), store.ping()):
        peer.failures = [(code, "details")]
        with pytest.raises(StoreUnavailable, match=f"{code.name}: .*{fix}.*: details"):
            await use
    assert set(peer.calls.values()) == {1, 2}  # each call once: get and ping are the same


@pytest.mark.parametrize("code", [StatusCode.INVALID_ARGUMENT, StatusCode.OUT_OF_RANGE, StatusCode.DATA_LOSS])
async def test_invalid_request_is_no_outage(store: FirestoreStore, peer: Peer, code: StatusCode) -> None:
    for use in (store.get(WORKS, "w1"), store.query_page(ALL), store.transact(put)):
        peer.failures = [(code, "details")]
        with pytest.raises(StoreError, match=f"{code.name}$") as raised:  # the details may quote a document
            await use
        assert not isinstance(raised.value, StoreUnavailable)
        assert raised.value.__suppress_context__


@pytest.mark.parametrize(
    ("database", "routing"),
    [
        ("(default)", "project_id=example.com%3Amy-project&database_id=%28default%29"),
        ("works-eu", "project_id=example.com%3Amy-project&database_id=works-eu"),
    ],
)
async def test_every_call_is_routed_by_project_and_database(peer: Peer, database: str, routing: str) -> None:
    store = FirestoreStore("example.com:my-project", database, emulator=peer.host)
    await store.get(WORKS, "w1")
    await store.query_page(ALL)
    await store.transact(put)
    await store.ping()
    assert set(peer.calls) == {"BatchGetDocuments", "RunQuery", "Commit"}
    assert {headers["x-goog-request-params"] for headers in peer.headers} == {routing}
    await store.close()


async def test_unanswered_call_takes_no_more_than_the_deadline(peer: Peer) -> None:
    store = FirestoreStore("my-project", emulator=peer.host, deadline_s=0.3)
    peer.held.clear()
    for use in (store.get(WORKS, "w1"), store.transact(put), store.ping()):
        with pytest.raises(StoreUnavailable, match="DEADLINE_EXCEEDED"):
            await use
    assert set(peer.calls.values()) <= {1, 2}  # none was repeated
    peer.held.set()
    await store.close()


async def test_unreachable_address_is_an_unavailable_store() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    store = FirestoreStore("my-project", emulator=f"127.0.0.1:{port}", deadline_s=2.0)
    for use in (store.get(WORKS, "w1"), store.transact(put), store.ping()):
        with pytest.raises(StoreUnavailable, match="UNAVAILABLE"):
            await use
    await store.close()


async def test_close_waits_for_running_calls(store: FirestoreStore, peer: Peer) -> None:
    peer.held.clear()
    begun = asyncio.create_task(store.transact(put))
    await peer.arrived.wait()
    closing = asyncio.create_task(store.close())
    await asyncio.sleep(0)
    assert not closing.done()
    peer.held.set()
    await begun
    await closing
    with pytest.raises(StoreUnavailable, match="closed"):
        await store.get(WORKS, "w1")


async def test_store_that_was_never_used_closes() -> None:
    await FirestoreStore("my-project").close()


async def test_missing_credentials_name_the_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", "/nowhere/key.json")
    store = FirestoreStore("my-project")
    with pytest.raises(StoreUnavailable, match=r"no credentials: .*gcloud auth application-default login"):
        await store.get(WORKS, "w1")
    await store.close()


async def test_keys_that_cannot_be_stored_are_not_requested(store: FirestoreStore, peer: Peer) -> None:
    assert await store.get_many(WORKS, ["a/b", "", "\ud800", "x" * 1_501]) == [None] * 4
    with pytest.raises(InvalidDocument):
        await write(store, "a/b")
    assert peer.calls == {}


def test_store_runs_under_uvloop() -> None:
    async def use() -> None:
        async with listening() as peer:
            store = FirestoreStore("my-project", emulator=peer.host)
            await asyncio.gather(*(store.transact(put) for _ in range(50)))
            assert await store.get(WORKS, "w1") is None
            await store.close()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(use())
