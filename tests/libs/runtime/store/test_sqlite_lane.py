"""A lane answers what it is asked, and refuses at once what would wait for too long a queue."""

import asyncio
import sqlite3
import threading
from collections.abc import Sequence

import pytest

from aex_runtime.store.port import StoreUnavailable
from aex_runtime.store.sqlite_lane import Lane, Work


async def test_where_too_many_wait_further_requests_are_refused_at_once() -> None:
    go_on = threading.Event()

    def answer(_: sqlite3.Connection, requests: Sequence[int]) -> list[int]:
        go_on.wait()
        return list(requests)

    lane = Lane(Work("a lane", lambda: sqlite3.connect(":memory:"), answer, lambda error: error, waiting=3))
    held = asyncio.create_task(lane.ask(0, 10))
    await asyncio.sleep(0.05)
    waiting = [asyncio.create_task(lane.ask(number, 10)) for number in range(3)]
    await asyncio.sleep(0)
    with pytest.raises(StoreUnavailable, match="3 requests wait already"):
        await lane.ask(9, 10)
    go_on.set()
    assert await asyncio.gather(held, *waiting) == [0, 0, 1, 2]
    assert await lane.ask(9, 10) == 9
    await lane.close()
