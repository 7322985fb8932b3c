"""What the Firestore store does when Firestore does not do what it is asked."""

import asyncio
import socket
import time
from collections.abc import AsyncIterator

import pytest
import uvloop
from grpc import StatusCode

from aex_runtime.store.firestore import FirestoreStore
from aex_runtime.store.port import Contention, InvalidDocument, Query, StoreError, StoreUnavailable, Transaction
from aex_runtime.store.rerun import Rerun
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
    store = FirestoreStore("my-project", emulator=peer.host, deadline_s=2.0, rerun=Rerun(tries=3, longest_ms=1))
    yield store
    peer.held.set()
    await store.close()


async def put(transaction: Transaction) -> None:
    transaction.put(WORKS, "w1", b"1", {})


@pytest.mark.parametrize("code", TRANSIENT)
async def test_read_that_fails_is_tried_again(store: FirestoreStore, peer: Peer, code: StatusCode) -> None:
    peer.failures = [(code, "later")] * 2
    assert await store.get(WORKS, "w1") is None
    assert peer.asked["BatchGetDocuments"] == 3


@pytest.mark.parametrize("code", TRANSIENT)
async def test_read_gives_up_after_three_tries(store: FirestoreStore, peer: Peer, code: StatusCode) -> None:
    peer.failures = [(code, "later")] * 3
    with pytest.raises(StoreUnavailable, match=f"my-project.*BatchGetDocuments: {code.name}: later"):
        await store.get(WORKS, "w1")
    assert peer.asked["BatchGetDocuments"] == 3


@pytest.mark.parametrize(
    "code",
    [
        StatusCode.CANCELLED,
        StatusCode.DEADLINE_EXCEEDED,
        StatusCode.INTERNAL,
        StatusCode.RESOURCE_EXHAUSTED,
        StatusCode.UNAVAILABLE,
        StatusCode.UNKNOWN,
    ],
)
async def test_commit_that_may_have_happened_is_never_tried_again(
    store: FirestoreStore, peer: Peer, code: StatusCode
) -> None:
    peer.failures = [(code, "who knows")]
    with pytest.raises(StoreUnavailable, match=f"Commit: {code.name}: who knows"):
        await store.transact(put)
    assert peer.asked["Commit"] == 1


async def test_commit_that_was_aborted_runs_again(store: FirestoreStore, peer: Peer) -> None:
    peer.failures = [(StatusCode.ABORTED, "too much contention")] * 2
    await store.transact(put)
    assert peer.asked["Commit"] == 3
    peer.failures = [(StatusCode.ABORTED, "too much contention")] * 3
    with pytest.raises(Contention):
        await store.transact(put)


@pytest.mark.parametrize(
    ("code", "fix"),
    [
        (StatusCode.NOT_FOUND, "no such database: create it, or correct the store's URL"),
        (StatusCode.PERMISSION_DENIED, "roles/datastore.user"),
        (StatusCode.UNAUTHENTICATED, "credentials of a service account"),
        (StatusCode.FAILED_PRECONDITION, "deploy/firestore.indexes.json"),
    ],
)
async def test_outage_that_somebody_must_end_names_the_fix(
    store: FirestoreStore, peer: Peer, code: StatusCode, fix: str
) -> None:
    for use in (store.get(WORKS, "w1"), store.query(ALL), store.transact(put), store.ping()):
        peer.failures = [(code, "details")]
        with pytest.raises(StoreUnavailable, match=f"{code.name}: .*{fix}.*: details"):
            await use
    assert set(peer.asked.values()) == {1, 2}  # each call once: get and ping are the same


@pytest.mark.parametrize("code", [StatusCode.INVALID_ARGUMENT, StatusCode.OUT_OF_RANGE, StatusCode.DATA_LOSS])
async def test_what_the_request_is_to_blame_for_is_no_outage(
    store: FirestoreStore, peer: Peer, code: StatusCode
) -> None:
    for use in (store.get(WORKS, "w1"), store.query(ALL), store.transact(put)):
        peer.failures = [(code, "details")]
        with pytest.raises(StoreError, match=f"{code.name}$") as raised:
            await use
        assert not isinstance(raised.value, StoreUnavailable)


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
    await store.query(ALL)
    await store.transact(put)
    await store.ping()
    assert set(peer.asked) == {"BatchGetDocuments", "RunQuery", "Commit"}
    assert {headers["x-goog-request-params"] for headers in peer.headers} == {routing}
    await store.close()


async def test_refused_argument_is_not_quoted(store: FirestoreStore, peer: Peer) -> None:
    peer.failures = [(StatusCode.INVALID_ARGUMENT, "the document says: secret")]
    with pytest.raises(StoreError, match=r"Commit: INVALID_ARGUMENT$") as raised:
        await store.transact(put)
    assert raised.value.__suppress_context__


async def test_silent_peer_costs_no_more_than_the_deadline(peer: Peer) -> None:
    store = FirestoreStore("my-project", emulator=peer.host, deadline_s=0.3)
    peer.held.clear()
    for use in (store.get(WORKS, "w1"), store.transact(put), store.ping()):
        before = time.monotonic()
        with pytest.raises(StoreUnavailable, match="DEADLINE_EXCEEDED"):
            await use
        assert time.monotonic() - before < 1.0
    peer.held.set()
    await store.close()


async def test_nobody_at_the_address_is_an_unavailable_store() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    store = FirestoreStore("my-project", emulator=f"127.0.0.1:{port}", deadline_s=2.0)
    for use in (store.get(WORKS, "w1"), store.transact(put), store.ping()):
        with pytest.raises(StoreUnavailable, match="UNAVAILABLE"):
            await use
    await store.close()


async def test_close_lets_what_was_begun_finish(store: FirestoreStore, peer: Peer) -> None:
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


async def test_without_credentials_the_store_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", "/nowhere/key.json")
    store = FirestoreStore("my-project")
    with pytest.raises(StoreUnavailable, match=r"no credentials: .*gcloud auth application-default login"):
        await store.get(WORKS, "w1")
    await store.close()


async def test_what_cannot_be_stored_is_not_asked_for(store: FirestoreStore, peer: Peer) -> None:
    assert await store.get_many(WORKS, ["a/b", "", "\ud800", "x" * 1_501]) == [None] * 4
    with pytest.raises(InvalidDocument):
        await write(store, "a/b")
    assert peer.asked == {}


def test_it_runs_under_uvloop() -> None:
    async def use() -> None:
        async with listening() as peer:
            store = FirestoreStore("my-project", emulator=peer.host)
            await asyncio.gather(*(store.transact(put) for _ in range(50)))
            assert await store.get(WORKS, "w1") is None
            await store.close()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(use())
