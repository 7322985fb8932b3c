"""A lane answers what it is asked, and refuses at once what would wait for too long a queue."""

import asyncio
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

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


async def test_what_comes_while_a_turn_is_waited_for_shares_it() -> None:
    our_turn, groups = threading.Event(), list[int]()

    def answer(_: sqlite3.Connection, requests: Sequence[int]) -> list[int]:
        groups.append(len(requests))
        return list(requests)

    @contextmanager
    def turn() -> Iterator[None]:
        our_turn.wait()
        yield

    work = Work("a lane", lambda: sqlite3.connect(":memory:"), answer, lambda error: error, group=10, turn=turn)
    lane = Lane(work)
    first = asyncio.create_task(lane.ask(0, 10))
    await asyncio.sleep(0.05)
    others = [asyncio.create_task(lane.ask(number, 10)) for number in range(1, 4)]
    await asyncio.sleep(0)
    our_turn.set()
    assert await asyncio.gather(first, *others) == [0, 1, 2, 3]
    assert groups == [4]
    await lane.close()


async def test_where_a_turn_cannot_be_had_the_request_fails_and_the_next_is_served() -> None:
    broken = [OSError("no such folder")]

    @contextmanager
    def turn() -> Iterator[None]:
        if broken:
            raise broken.pop()
        yield

    work: Work[int, int] = Work(
        "a lane", lambda: sqlite3.connect(":memory:"), lambda _, asked: list(asked), lambda error: error, turn=turn
    )
    lane = Lane(work)
    with pytest.raises(OSError, match="no such folder"):
        await lane.ask(1, 10)
    assert await lane.ask(2, 10) == 2
    await lane.close()
