import asyncio
import threading
from contextlib import aclosing
from typing import Any

import pytest

from aex_models.frozen import Frozen
from aex_runtime.yielding import SHORT, is_larger_than, map_in_order, run_in_thread_if_large


class Box(Frozen):
    inside: Any


LONG: dict[str, object] = {
    "a text": "x" * (SHORT + 1),
    "bytes": b"x" * (SHORT + 1),
    "a list": [0] * (SHORT + 1),
    "a tuple of texts": ("x" * SHORT, "x"),
    "names": {"x" * SHORT: 1},
    "values": {str(number): None for number in range(SHORT)},
    "a model's field": Box(inside={"deep": [["x" * SHORT]]}),
    "many small ones": [Box(inside=[1])] * (SHORT // 2),
}


@pytest.mark.parametrize("value", LONG.values(), ids=LONG)
def test_long_value_is_longer_than_the_limit(value: object) -> None:
    assert is_larger_than(value, SHORT)


@pytest.mark.parametrize("value", ["x" * SHORT, [0] * (SHORT - 1), {}, None, 10**4_000, Box(inside={"a": [1.5]})])
def test_short_value_is_not_longer(value: object) -> None:
    assert not is_larger_than(value, SHORT)


def test_search_stops_at_the_limit() -> None:
    endless: list[object] = []
    endless.append(endless)  # a search to its end would not return
    assert is_larger_than(endless, SHORT)


@pytest.mark.parametrize(("value", "here"), [("short", True), ("x" * (SHORT + 1), False)])
async def test_long_value_is_handled_in_a_thread(value: str, here: bool) -> None:
    def fail() -> None:
        raise ValueError("no")

    assert (await run_in_thread_if_large(value, threading.get_ident) == threading.get_ident()) is here
    with pytest.raises(ValueError, match="no"):
        await run_in_thread_if_large(value, fail)


async def test_results_come_in_order_with_few_items_in_progress() -> None:
    running = most = 0

    async def work(number: int) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.001 * (5 - number % 5))
        running -= 1
        return number

    assert [each async for each in map_in_order(work, range(20), 3)] == list(range(20))
    assert most == 3


async def test_closed_or_failed_mapping_cancels_the_items_in_progress() -> None:
    cancelled: list[int] = []

    async def work(number: int) -> int:
        try:
            await asyncio.sleep(0 if number < 2 else 60)
        except asyncio.CancelledError:
            cancelled.append(number)
            raise
        if number:
            raise ValueError(number)
        return number

    async with aclosing(map_in_order(work, range(9), 4)) as results:
        assert await anext(results) == 0
    assert cancelled == [2, 3]
    results = map_in_order(work, range(9), 4)
    assert await anext(results) == 0
    with pytest.raises(ValueError, match="1"):
        await anext(results)
    assert cancelled == [2, 3, 2, 3]
