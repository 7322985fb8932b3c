import asyncio
import sqlite3
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import closing
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
    others = [await start(path, "increment", "30") for _ in range(2)]
    assert [await other.wait() for other in others] == [0] * 2
    await asyncio.gather(*(store.transact(increment("counter")) for _ in range(10)))
    assert (await read(store, "counter")).body == b"70"


@pytest.mark.parametrize("lines", [1, 100])
async def test_readers_see_what_a_killed_writer_acknowledged(store: SQLiteStore, path: Path, lines: int) -> None:
    await store.ping()
    writer = await start(path, "append", "w")
    assert writer.stdout is not None
    keys: list[str] = []
    for _ in range(lines):
        keys += (await writer.stdout.readline()).decode().split()
        assert await store.get(WORKS, keys[-1]) is not None
    writer.kill()
    rest, _ = await writer.communicate()
    *complete, _torn = rest.decode().split("\n")  # the last line may be cut off
    keys += [key for line in complete for key in line.split()]
    assert len(keys) >= 2 * lines

    reopened = SQLiteStore(path)
    found = await reopened.get_many(WORKS, keys)
    assert [document and document.body for document in found] == [key.encode() * 50 for key in keys]
    names = {
        document.key for document in await reopened.query_page(Query(WORKS, {"state": "open"}, "due", limit=1_000_000))
    }
    await reopened.close()
    assert set(keys) <= names
    assert len(names) % 2 == 0  # pairs were written whole, or not at all
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
