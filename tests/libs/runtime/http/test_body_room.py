"""Large bodies are held as far as there is room for them, and leave it with their requests."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from aex_runtime.errors import RateLimited, TemporarilyUnavailable
from aex_runtime.http.body_room import HUGE_BYTES, SMALL_BYTES, BodyRoom
from tests.libs.runtime.http.sample import sample

LARGE = 10 * SMALL_BYTES


def test_a_body_leaves_its_room_with_its_request() -> None:
    room = BodyRoom(2 * LARGE, 3 * LARGE)
    with room.place("a") as first, room.place("a") as second:
        first.hold(LARGE)
        second.hold(LARGE // 2)
        second.hold(LARGE)
        assert room.held == 2 * LARGE
        with room.place("a") as third, pytest.raises(RateLimited, match="too_many_bytes"):
            third.hold(LARGE)
        with room.place("b") as another:
            another.hold(LARGE)
            with room.place("c") as last, pytest.raises(TemporarilyUnavailable, match="bodies_busy"):
                last.hold(LARGE)
    assert room.held == 0


def test_small_bodies_need_no_room() -> None:
    room = BodyRoom(1, 1)
    with room.place("a") as place:
        place.hold(SMALL_BYTES)
        assert room.held == 0


async def test_who_finds_no_room_is_told_to_come_again(tmp_path: Path) -> None:
    made = sample(tmp_path)
    made.app.state.body_room = BodyRoom(LARGE, LARGE)
    go_on = asyncio.Event()

    async def slowly() -> AsyncIterator[bytes]:
        yield b'"' + b"x" * (LARGE - 10)
        await go_on.wait()
        yield b'"'

    headers = {"Content-Type": "application/json"}
    async with made.client() as client, made.client(sub="globex") as another:
        first = asyncio.create_task(client.post("/v1/echo", content=slowly(), headers=headers))
        async with asyncio.timeout(10):
            while not made.app.state.body_room.held:  # noqa: ASYNC110 it tells nobody
                await asyncio.sleep(0.01)
        own = await client.post("/v1/echo", content=b'"' + b"x" * LARGE + b'"', headers=headers)
        other = await another.post("/v1/echo", content=b'"' + b"x" * (LARGE // 2) + b'"', headers=headers)
        small = await another.post("/v1/echo", content=b'"x"', headers=headers)
        go_on.set()
        assert (await first).status_code == 200
    assert (own.status_code, own.json()["code"], own.headers["retry-after"]) == (429, "too_many_bytes", "1")
    assert (other.status_code, other.json()["code"], other.headers["retry-after"]) == (503, "bodies_busy", "1")
    assert small.status_code == 200
    assert made.app.state.body_room.held == 0


async def test_huge_bodies_are_parsed_one_after_the_other_and_others_beside_them(tmp_path: Path) -> None:
    made = sample(tmp_path)
    room: BodyRoom = made.app.state.body_room
    headers = {"Content-Type": "application/json"}
    async with made.client() as client, made.client(sub="globex") as another:
        async with room.huge_turn:
            huge = asyncio.create_task(
                client.post("/v1/echo", content=b'"' + b"x" * HUGE_BYTES + b'"', headers=headers)
            )
            async with asyncio.timeout(10):
                while room.held < HUGE_BYTES:  # noqa: ASYNC110 it tells nobody
                    await asyncio.sleep(0.01)
            large = await another.post("/v1/echo", content=b'"' + b"x" * LARGE + b'"', headers=headers)
            assert large.status_code == 200
            assert not huge.done()
        assert (await huge).status_code == 200
