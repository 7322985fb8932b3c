"""Work on values of any size without blocking the event loop, in threads or with pauses.

For a small value the change of threads would take longer than the work.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Mapping
from itertools import chain, islice
from typing import TypeVar

from pydantic import BaseModel

T = TypeVar("T")
SHORT = 4_000
"""Characters and parts of a small value, work on which takes up to two milliseconds."""


def is_larger_than(value: object, max_chars_and_parts: int) -> bool:
    """Return whether the characters and parts of a value, added, exceed the maximum; counting stops there."""
    waiting: list[object] = [value]
    size = 0
    while waiting and size <= max_chars_and_parts:
        part = waiting.pop()
        size += len(part) if isinstance(part, str | bytes) else 1
        if isinstance(part, Mapping):
            waiting += islice(chain.from_iterable(part.items()), max_chars_and_parts)
        elif isinstance(part, list | tuple):
            waiting += part[:max_chars_and_parts]
        elif isinstance(part, BaseModel):
            waiting += [each for _, each in part]
    return size > max_chars_and_parts


async def run_in_thread_if_large(value: object, work: Callable[[], T]) -> T:
    """Return the result of `work`, which runs in a thread if `value`, on which it works, is large."""
    return await asyncio.to_thread(work) if is_larger_than(value, SHORT) else work()


async def wait_for_event(event: asyncio.Event, timeout_s: float | None) -> bool:
    """Wait until the event is set and return True; return False after the time-out (None: no limit)."""
    try:
        async with asyncio.timeout(timeout_s):
            return await event.wait()
    except TimeoutError:
        return False


A = TypeVar("A")
YIELD_AFTER = 50
"""Records that are processed without a pause; they take a few milliseconds."""


async def map_yielding(work: Callable[[A], T], items: Iterable[A], yield_after: int = YIELD_AFTER) -> list[T]:
    """Return `work` of each item, in order; let other tasks run after every `yield_after` items."""
    results: list[T] = []
    for item in items:
        results.append(work(item))
        if len(results) % yield_after == 0:
            await asyncio.sleep(0)
    return results


async def map_in_order(
    work: Callable[[A], Coroutine[None, None, T]], items: Iterable[A], limit: int
) -> AsyncGenerator[T, None]:
    """Yield `work` of each item, in order, with up to `limit` items in progress; closing it cancels them."""
    left = iter(items)
    tasks = deque[asyncio.Task[T]]()
    try:
        while True:
            tasks += [asyncio.create_task(work(item)) for item in islice(left, limit - len(tasks))]
            if not tasks:
                return
            yield await tasks[0]
            tasks.popleft()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def prefetch(pages: AsyncGenerator[T, None]) -> AsyncGenerator[T, None]:
    """Yield the pages, and read each while the consumer handles the one before; close `pages` at the end."""
    following = asyncio.ensure_future(anext(pages, None))
    try:
        while (page := await following) is not None:
            following = asyncio.ensure_future(anext(pages, None))
            yield page
    finally:
        if not following.done():
            following.cancel()
            await asyncio.wait([following])
        await pages.aclose()
