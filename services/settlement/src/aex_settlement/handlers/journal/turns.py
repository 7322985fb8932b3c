"""Much work in small pieces, so that requests are answered between them."""

import asyncio
from collections.abc import Callable, Iterable
from typing import TypeVar

A = TypeVar("A")
R = TypeVar("R")
AT_ONCE = 50
"""Records that are read or written in one go: a few milliseconds."""


async def in_turns(work: Callable[[A], R], items: Iterable[A], at_once: int = AT_ONCE) -> list[R]:
    """`work` done for each item, in their order, letting others go on after every `at_once`."""
    done: list[R] = []
    for item in items:
        done.append(work(item))
        if len(done) % at_once == 0:
            await asyncio.sleep(0)
    return done
