"""Work on values of any size: on long ones in a thread, so that it delays nobody else.

For short ones a thread is the longer way: to get there and back takes more than the work does.
"""

import asyncio
from collections.abc import Callable, Mapping
from itertools import chain, islice
from typing import TypeVar

from pydantic import BaseModel

T = TypeVar("T")
SHORT = 4_000
"""Characters and parts, which take a millisecond or two at the worst."""


def is_longer(value: object, limit: int) -> bool:
    """Whether models, JSON and what is made of them have more characters and parts than this.

    Costs no more than the limit, whatever the value holds.
    """
    waiting: list[object] = [value]
    size = 0
    while waiting and size <= limit:
        part = waiting.pop()
        size += len(part) if isinstance(part, str | bytes) else 1
        if isinstance(part, Mapping):
            waiting += islice(chain.from_iterable(part.items()), limit)
        elif isinstance(part, list | tuple):
            waiting += part[:limit]
        elif isinstance(part, BaseModel):
            waiting += [each for _, each in part]
    return size > limit


async def in_a_thread_if_long(value: object, work: Callable[[], T]) -> T:
    """What `work` on this value returns, or raises."""
    return await asyncio.to_thread(work) if is_longer(value, SHORT) else work()
