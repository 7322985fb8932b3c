import asyncio
import sqlite3
import stat
from collections.abc import AsyncIterator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from aex_runtime.sqlite_file import StoreFile
from aex_runtime.store.port import Query, StoreError, StoreUnavailable, Transaction
from aex_runtime.store.sqlite import SQLiteStore
from tests.libs.runtime.background import full_disk
from tests.store.contract import WORKS, keys, read, write


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SQLiteStore]:
    store = SQLiteStore(tmp_path / "new" / "folders" / "store.sqlite3", busy_s=0.6)
    yield store
    await store.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "new" / "folders" / "store.sqlite3"


@contextmanager
def locked(path: Path) -> Iterator[None]:
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


async def test_files_and_folders_are_private(store: SQLiteStore, path: Path) -> None:
    await write(store, "w1")
    modes = {place.name: stat.S_IMODE(place.stat().st_mode) for place in path.parent.iterdir()}
    assert modes == dict.fromkeys(
        ("store.sqlite3", "store.sqlite3-wal", "store.sqlite3-shm", "store.sqlite3-turn"), 0o600
    )
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


async def test_nothing_is_touched_before_the_first_use(store: SQLiteStore, path: Path) -> None:
    await store.close()
    assert not path.parent.exists()


def test_every_commit_is_synced(tmp_path: Path) -> None:
    connection = StoreFile(tmp_path / "store.sqlite3", 1.0).connect(read_only=False)
    found = [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")]
    connection.close()
    assert found == ["wal", 2]  # 2: FULL


async def test_locked_file_is_unavailable_and_recovers(store: SQLiteStore, path: Path) -> None:
    await write(store, "w1")
    with locked(path):
        for refused in (store.ping(), write(store, "w2")):
            with pytest.raises(StoreUnavailable, match="SQLITE_BUSY"):
                await refused
        assert (await read(store, "w1")).key == "w1"  # readers do not wait
    await store.ping()
    await write(store, "w2")
    assert await store.get(WORKS, "w2") is not None


async def test_held_write_lock_is_unavailable_and_delays_no_stop(tmp_path: Path) -> None:
    store, other = SQLiteStore(tmp_path / "store.sqlite3", deadline_s=2), StoreFile(tmp_path / "store.sqlite3", 1.0)
    await write(store, "w1")
    with other.write_lock.hold():
        with pytest.raises(StoreUnavailable, match="no answer within"):
            await write(store, "w2")
        assert await read(store, "w1") is not None
    await write(store, "w3")
    assert await store.get(WORKS, "w2") is None  # its caller had given up before it began
    with other.write_lock.hold():
        with pytest.raises(StoreUnavailable, match="no answer within"):
            await write(store, "w2")
        with capture_logs() as lines:
            await store.close()
    assert [line["event"] for line in lines] == ["sqlite_threads_abandoned"]
    with capture_logs() as lines:  # the lock was released before this process ended
        await store.close()
    assert lines == []
    other.write_lock.close()


async def test_full_disk_is_unavailable_and_recovers(store: SQLiteStore) -> None:
    await write(store, "w1")
    await asyncio.gather(*(store.ping() for _ in range(9)))  # all connections are open: none fails for being new
    with full_disk(0):
        for refused in (store.ping(), write(store, "w2")):
            with pytest.raises(StoreUnavailable, match=r"SQLITE_(IOERR|FULL)"):
                await refused
    await store.ping()
    await write(store, "w2")
    assert await store.get(WORKS, "w2") is not None


async def test_event_loop_runs_on_while_the_disk_waits(store: SQLiteStore, path: Path) -> None:
    await write(store, "w1")
    with locked(path):
        waiting, beats = asyncio.create_task(write(store, "w2")), 0
        while not waiting.done():
            await asyncio.sleep(0.005)
            beats += 1
    assert isinstance(waiting.exception(), StoreUnavailable)
    assert beats > 3  # on the loop, the wait of 0.6 s for the lock would be one long pause


async def test_deadline_holds_while_the_disk_does_not_answer(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "store.sqlite3", busy_s=3.0, deadline_s=1)
    await store.ping()
    with locked(tmp_path / "store.sqlite3"), pytest.raises(StoreUnavailable, match=r"no answer within 1 s"):
        await write(store, "w1")
    await store.close()


async def test_abandoned_transaction_that_was_not_begun_never_is(store: SQLiteStore, path: Path) -> None:
    await write(store, "w1")
    other = StoreFile(path, 1.0)
    with other.write_lock.hold():  # the writer waits for it before it takes more than one of them
        first, second = (asyncio.create_task(write(store, key)) for key in ("first", "second"))
        await asyncio.sleep(0.01)
        second.cancel()
        await asyncio.wait([second])
    other.write_lock.close()
    await first
    await write(store, "third")
    found = await store.get_many(WORKS, ["first", "second", "third"])
    assert [document and document.key for document in found] == ["first", None, "third"]


async def test_unreachable_folder_is_unavailable_and_recovers(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file where a folder should be")
    store = SQLiteStore(tmp_path / "data" / "store.sqlite3")
    for _ in range(2):
        with pytest.raises(StoreUnavailable, match="data"):
            await store.ping()
    (tmp_path / "data").unlink()
    await store.ping()
    await store.close()


async def test_unusable_file_is_refused(tmp_path: Path) -> None:
    foreign, later = tmp_path / "foreign.sqlite3", tmp_path / "later.sqlite3"
    foreign.write_bytes(b"no database" * 1_000)
    with closing(sqlite3.connect(later)) as connection:
        connection.execute("PRAGMA user_version = 7")
    for path, error, text in ((foreign, StoreUnavailable, "SQLITE_NOTADB"), (later, StoreError, "layout 7")):
        store = SQLiteStore(path)
        with pytest.raises(error, match=text):
            await store.ping()
        await store.close()


async def test_statement_that_sqlite_refuses_is_no_outage(store: SQLiteStore, path: Path) -> None:
    await write(store, "w1")
    other = sqlite3.connect(path)
    other.execute("ALTER TABLE documents RENAME TO elsewhere")
    other.close()
    with pytest.raises(StoreError, match="SQLITE_ERROR: no such table") as raised:
        await store.get(WORKS, "w1")
    assert not isinstance(raised.value, StoreUnavailable)


async def test_missing_file_is_noticed_and_not_created(store: SQLiteStore, path: Path) -> None:
    await write(store, "w1")
    path.rename(path.with_name("elsewhere"))  # noqa: ASYNC240 no time passes here
    for _ in range(4):
        with pytest.raises(StoreUnavailable, match="removed or replaced"):
            await store.ping()
    with pytest.raises(StoreUnavailable, match="removed or replaced"):
        await write(store, "w2")
    path.write_bytes(b"")  # noqa: ASYNC240
    with pytest.raises(StoreUnavailable, match="removed or replaced"):
        await write(store, "w2")


async def test_close_finishes_running_transactions(store: SQLiteStore, path: Path) -> None:
    begun = [asyncio.create_task(write(store, f"k{number}")) for number in range(100)]
    await asyncio.sleep(0)
    await store.close()
    await asyncio.gather(*begun)
    with pytest.raises(StoreUnavailable, match="closed"):
        await store.get(WORKS, "k1")
    reopened = SQLiteStore(path)
    assert len(await keys(reopened, Query(WORKS, limit=1_000))) == 100
    await reopened.close()


def test_store_serves_one_event_loop_after_another(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "store.sqlite3")
    asyncio.run(write(store, "w1", b"1"))
    assert asyncio.run(read(store, "w1")).body == b"1"
    asyncio.run(store.close())


async def test_transaction_that_only_reads_needs_no_write_lock(store: SQLiteStore, path: Path) -> None:
    for key in ("a", "b"):
        await write(store, key)

    async def fn(transaction: Transaction) -> list[bool]:
        return [await transaction.get(WORKS, key) is not None for key in ("a", "b", "c")]

    with locked(path):
        assert await store.transact(fn) == [True, True, False]
