import pytest
from obstore.store import MemoryStore as MemoryObjects

from aex_models.canonical import sha256_hex
from aex_runtime.blobs.objects import ObjectBlobs
from aex_runtime.blobs.port import BlobCorrupt, BlobMissing, BlobUnavailable
from aex_runtime.store.memory import MemoryStore
from aex_runtime.store.port import SPILL_BYTES, Document, Query, StoreError, StoreUnavailable, Transaction
from aex_runtime.store.spill import SpillingStore
from tests.parts.blobs import FailingBlobs
from tests.store.contract import WORKS, read, write

LARGE = b'"' + b"x" * 2_000_000 + b'"'


@pytest.fixture
def inner() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def blobs() -> FailingBlobs:
    return FailingBlobs()


@pytest.fixture
def store(inner: MemoryStore, blobs: FailingBlobs) -> SpillingStore:
    return SpillingStore(inner, blobs)


async def test_every_read_returns_a_large_body(store: SpillingStore, inner: MemoryStore) -> None:
    await write(store, "w1", LARGE, state="open", due=1)
    await write(store, "w2", b"{}", state="open", due=2)
    kept = await read(inner, "w1")
    assert kept.body == b"\0blob:%s:%d" % (sha256_hex(LARGE).encode(), len(LARGE))

    async def fn(transaction: Transaction) -> Document | None:
        return await transaction.get(WORKS, "w1")

    large = Document("w1", LARGE, {"state": "open", "due": 1}, kept.version)
    small = await read(store, "w2")
    assert await store.get(WORKS, "w1") == large
    assert await store.get_many(WORKS, ["w2", "absent", "w1", "w1"]) == [small, None, large, large]
    assert await store.query_page(Query(WORKS, {"state": "open"}, "due")) == [large, small]
    assert await store.transact(fn) == large


@pytest.mark.parametrize(("size", "puts"), [(SPILL_BYTES, 0), (SPILL_BYTES + 1, 1)])
async def test_body_spills_above_the_limit(store: SpillingStore, blobs: FailingBlobs, size: int, puts: int) -> None:
    await write(store, "w1", b"x" * size)
    assert blobs.puts == puts
    assert (await read(store, "w1")).body == b"x" * size


async def test_body_that_looks_like_a_marker_is_still_a_body(store: SpillingStore) -> None:
    for body in (b"\0", b"\0blob:%s:5" % (b"a" * 64)):
        await write(store, "w1", body)
        assert (await read(store, "w1")).body == body


async def test_unavailable_blobs_prevent_the_commit(
    store: SpillingStore, inner: MemoryStore, blobs: FailingBlobs
) -> None:
    blobs.failure = BlobUnavailable("down")

    async def fn(transaction: Transaction) -> None:
        transaction.put(WORKS, "small", b"1", {})
        transaction.put(WORKS, "large", LARGE, {})

    with pytest.raises(StoreUnavailable, match="down"):
        await store.transact(fn)
    assert await inner.get(WORKS, "small") is None


async def test_unreachable_blob_is_an_unavailable_store(store: SpillingStore, blobs: FailingBlobs) -> None:
    await write(store, "w1", LARGE)
    blobs.failure = BlobUnavailable("down")
    with pytest.raises(StoreUnavailable, match="test-works/w1: down"):
        await store.get(WORKS, "w1")


@pytest.mark.parametrize("failure", [BlobMissing("gone"), BlobCorrupt("torn")])
async def test_lost_body_is_an_error_that_no_retry_mends(
    store: SpillingStore, blobs: FailingBlobs, failure: Exception
) -> None:
    await write(store, "w1", LARGE)
    blobs.failure = failure
    with pytest.raises(StoreError, match="test-works/w1: its body is lost") as raised:
        await store.get(WORKS, "w1")
    assert not isinstance(raised.value, StoreUnavailable)


async def test_marker_that_is_none_is_an_error(store: SpillingStore, inner: MemoryStore) -> None:
    await write(inner, "w1", b"\0blob:torn")
    with pytest.raises(StoreError, match="neither JSON nor the marker"):
        await store.get(WORKS, "w1")


async def test_rerun_stores_the_same_blob_once(inner: MemoryStore) -> None:
    store = SpillingStore(inner, ObjectBlobs(MemoryObjects))
    await write(store, "w1", b"1")
    runs: list[int] = []

    async def fn(transaction: Transaction) -> None:
        runs.append(1)
        seen = await transaction.get(WORKS, "w1")
        assert seen is not None
        if len(runs) == 1:
            await write(store, "w1", b"2")
        transaction.update(WORKS, seen, LARGE, {})

    await store.transact(fn)
    assert len(runs) == 2
    assert (await read(store, "w1")).body == LARGE
