import asyncio
import fcntl
import sqlite3
import threading
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest

from aex_runtime.bus import embedded_table
from aex_runtime.bus.embedded_writer import QueueWriter
from aex_runtime.bus.port import BusUnavailable, Message

INSERT = partial(embedded_table.insert_messages, messages=[("work.checked", Message({}, b"{}"))], now_micros=1)


class Gate:
    """Work that waits in the writer's thread."""

    def __init__(self) -> None:
        self.entered, self.opened = threading.Event(), threading.Event()

    def __call__(self, _: sqlite3.Connection) -> None:
        self.entered.set()
        self.opened.wait()


@pytest.fixture
def durable_commits() -> list[bool]:
    return []


@pytest.fixture
async def writer(tmp_path: Path, durable_commits: list[bool]) -> AsyncIterator[QueueWriter]:
    writer = QueueWriter(tmp_path / "queue.sqlite3", lambda: durable_commits.append(True))
    yield writer
    await writer.close()


def synchronous(connection: sqlite3.Connection) -> int:
    (level,) = connection.execute("PRAGMA synchronous").fetchone()
    return int(level)


async def test_durable_work_is_synced_at_its_commit_and_other_work_is_not(writer: QueueWriter) -> None:
    full, normal = 2, 1
    assert await writer.run_and_commit(synchronous, durable=True) == full
    assert await writer.run_and_commit(synchronous, durable=False) == normal
    assert await writer.run_and_commit(synchronous, durable=True) == full


async def test_consumers_are_woken_after_durable_work_alone(writer: QueueWriter, durable_commits: list[bool]) -> None:
    await writer.run_and_commit(embedded_table.count_messages, durable=False)
    assert durable_commits == []
    await writer.run_and_commit(INSERT, durable=True)
    assert durable_commits == [True]


async def test_work_that_comes_during_a_commit_shares_the_next_one(
    writer: QueueWriter, durable_commits: list[bool]
) -> None:
    gate = Gate()
    first = asyncio.create_task(writer.run_and_commit(gate, durable=True))
    await asyncio.to_thread(gate.entered.wait)
    others = [asyncio.create_task(writer.run_and_commit(INSERT, durable=True)) for _ in range(50)]
    await asyncio.sleep(0)
    gate.opened.set()
    await asyncio.gather(first, *others)
    assert len(durable_commits) == 2
    assert await writer.run_and_commit(embedded_table.count_messages, durable=False) == 50


async def test_failed_work_is_rolled_back(writer: QueueWriter) -> None:
    def fail(connection: sqlite3.Connection) -> None:
        INSERT(connection)
        connection.execute("SELECT * FROM no_such_table")

    with pytest.raises(BusUnavailable, match="no_such_table"):
        await writer.run_and_commit(fail, durable=True)
    assert await writer.run_and_commit(embedded_table.count_messages, durable=False) == 0
    await writer.run_and_commit(INSERT, durable=True)
    assert await writer.run_and_commit(embedded_table.count_messages, durable=False) == 1


async def test_work_submitted_before_the_close_is_committed(tmp_path: Path) -> None:
    closing = QueueWriter(tmp_path / "queue.sqlite3", lambda: None)
    submitted = [asyncio.create_task(closing.run_and_commit(INSERT, durable=True)) for _ in range(3)]
    await asyncio.sleep(0)
    await closing.close()
    await asyncio.gather(*submitted)
    with pytest.raises(BusUnavailable, match="closed"):
        await closing.run_and_commit(INSERT, durable=True)
    reopened = QueueWriter(tmp_path / "queue.sqlite3", lambda: None)
    assert await reopened.run_and_commit(embedded_table.count_messages, durable=False) == 3
    await reopened.close()


async def test_work_of_a_cancelled_caller_is_done(writer: QueueWriter) -> None:
    gate = Gate()
    first = asyncio.create_task(writer.run_and_commit(gate, durable=False))
    given_up = asyncio.create_task(writer.run_and_commit(INSERT, durable=True))
    await asyncio.to_thread(gate.entered.wait)
    given_up.cancel()
    gate.opened.set()
    await first
    assert await writer.run_and_commit(embedded_table.count_messages, durable=False) == 1


async def test_work_past_its_deadline_is_unavailable(tmp_path: Path) -> None:
    impatient = QueueWriter(tmp_path / "queue.sqlite3", lambda: None, deadline_s=2)
    await impatient.run_and_commit(INSERT, durable=True)
    with (tmp_path / "queue.lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(BusUnavailable, match=r"no answer within 2 s"):
            await impatient.run_and_commit(embedded_table.count_messages, durable=False)
    assert await impatient.run_and_commit(embedded_table.count_messages, durable=False) == 1
    await impatient.close()
