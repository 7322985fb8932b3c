import asyncio
import sqlite3
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from aex_runtime.store.port import Query
from aex_runtime.store.sqlite import SQLiteStore
from tests.store.contract import WORKS, increment, read

pytestmark = pytest.mark.slow
_REPO = Path(__file__).parents[4]


async def start(path: Path, command: str, argument: str) -> Process:
    module = "tests.libs.runtime.store.writing_process"
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", module, str(path), command, argument, stdout=PIPE, cwd=_REPO
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "store.sqlite3"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[SQLiteStore]:
    store = SQLiteStore(path)
    yield store
    await store.close()


async def test_processes_that_open_a_new_file_at_once_lose_no_increment(store: SQLiteStore, path: Path) -> None:
    others = [await start(path, "increment", "40") for _ in range(4)]
    assert [await other.wait() for other in others] == [0] * 4
    await asyncio.gather(*(store.transact(increment("counter")) for _ in range(10)))
    assert (await read(store, "counter")).body == b"170"


async def test_reader_sees_commits_of_another_process(store: SQLiteStore, path: Path) -> None:
    await store.ping()
    other = await start(path, "append", "w")
    assert other.stdout is not None
    for _ in range(50):
        for key in (await other.stdout.readline()).decode().split():
            assert await store.get(WORKS, key) is not None
    other.kill()
    await other.communicate()


@pytest.mark.parametrize("lines", [1, 200])
async def test_killed_writer_lost_nothing_that_it_acknowledged(path: Path, lines: int) -> None:
    writer = await start(path, "append", "w")
    assert writer.stdout is not None
    acknowledged = [(await writer.stdout.readline()).decode() for _ in range(lines)]
    writer.kill()
    rest, _ = await writer.communicate()
    *complete, _torn = rest.decode().split("\n")  # the last line may be cut off
    keys = [key for line in (*acknowledged, *complete) for key in line.split()]
    assert len(keys) >= 2 * lines

    store = SQLiteStore(path)
    found = await store.get_many(WORKS, keys)
    assert [document and document.body for document in found] == [key.encode() * 50 for key in keys]
    everything = await store.query(Query(WORKS, {"state": "open"}, "due", limit=1_000_000))
    await store.close()
    names = [document.key for document in everything]
    assert set(keys) <= set(names)
    assert len(names) % 2 == 0  # pairs were written whole, or not at all
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()
