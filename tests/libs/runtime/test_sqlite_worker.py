import asyncio
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest

from aex_runtime.sqlite_worker import GroupWorker, WorkerSpec
from aex_runtime.store.port import StoreUnavailable

Process = Callable[[sqlite3.Connection, Sequence[int]], list[int]]


def worker_of(process: Process, **options: Any) -> GroupWorker[int, int]:
    connect = partial(sqlite3.connect, ":memory:")
    return GroupWorker(WorkerSpec("a worker", connect, process, lambda error: error, StoreUnavailable, **options))


async def test_requests_above_the_limit_are_refused_at_once() -> None:
    entered, gate = threading.Event(), threading.Event()

    def answer(_: sqlite3.Connection, requests: Sequence[int]) -> list[int]:
        entered.set()
        gate.wait()
        return list(requests)

    worker = worker_of(answer, max_waiting=3)
    held = asyncio.create_task(worker.submit_and_wait(0, 60))
    await asyncio.to_thread(entered.wait)
    waiting = [asyncio.create_task(worker.submit_and_wait(number, 60)) for number in range(3)]
    await asyncio.sleep(0)
    with pytest.raises(StoreUnavailable, match="3 requests wait already"):
        await worker.submit_and_wait(9, 10)
    gate.set()
    assert await asyncio.gather(held, *waiting) == [0, 0, 1, 2]
    assert await worker.submit_and_wait(9, 10) == 9
    await worker.close()


async def test_requests_during_the_wait_for_the_lock_share_a_group() -> None:
    entered, released, groups = threading.Event(), threading.Event(), list[int]()

    def answer(_: sqlite3.Connection, requests: Sequence[int]) -> list[int]:
        groups.append(len(requests))
        return list(requests)

    @contextmanager
    def lock() -> Iterator[None]:
        entered.set()
        released.wait()
        yield

    worker = worker_of(answer, max_group=10, lock=lock)
    first = asyncio.create_task(worker.submit_and_wait(0, 60))
    await asyncio.to_thread(entered.wait)
    others = [asyncio.create_task(worker.submit_and_wait(number, 60)) for number in range(1, 4)]
    await asyncio.sleep(0)
    released.set()
    assert await asyncio.gather(first, *others) == [0, 1, 2, 3]
    assert groups == [4]
    await worker.close()


async def test_failed_lock_fails_its_request_alone() -> None:
    broken = [OSError("no such folder")]

    @contextmanager
    def lock() -> Iterator[None]:
        if broken:
            raise broken.pop()
        yield

    worker = worker_of(lambda _, requests: list(requests), lock=lock)
    with pytest.raises(OSError, match="no such folder"):
        await worker.submit_and_wait(1, 10)
    assert await worker.submit_and_wait(2, 10) == 2
    await worker.close()
