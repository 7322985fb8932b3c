"""Requests that wait for a verdict: woken by this process's own work, or else by looking again."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")
_OFTEN = 50
"""So many waits look again that often; where there are more, each looks less often, and all together no more."""


class Waits:
    """A bounded number of waits, each for one thing: an attempt's verdict, a contract's next event.

    Each looks again every `look_again_s` seconds.
    """

    def __init__(self, limit: int = 500, look_again_s: float = 0.5) -> None:
        self._limit = limit
        self._look_again_s = look_again_s
        self._waiting: dict[str, set[asyncio.Event]] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def wake(self, about: str) -> None:
        """Whatever waits for this looks again now."""
        for event in self._waiting.get(about, ()):
            event.set()

    async def until(self, about: str, seconds: float, look: Callable[[], Awaitable[T]], done: Callable[[T], bool]) -> T:
        """`look` until it is `done` or the time is over; at once where too many wait already."""
        seen = await look()
        if done(seen) or seconds <= 0 or self._count >= self._limit:
            return seen
        woken = asyncio.Event()
        self._waiting.setdefault(about, set()).add(woken)
        self._count += 1
        try:
            return await self._watch(woken, seconds, look, done)
        finally:
            self._count -= 1
            self._forget(about, woken)

    async def _watch(
        self, woken: asyncio.Event, seconds: float, look: Callable[[], Awaitable[T]], done: Callable[[T], bool]
    ) -> T:
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        while True:
            left = end - loop.time()
            if left > 0:
                # A verdict of another replica wakes nobody here: look again from time to time.
                pause = self._look_again_s * max(1.0, self._count / _OFTEN)
                with suppress(TimeoutError):
                    await asyncio.wait_for(woken.wait(), min(left, pause))
            woken.clear()
            seen = await look()
            if done(seen) or left <= 0:
                return seen

    def _forget(self, about: str, woken: asyncio.Event) -> None:
        events = self._waiting[about]
        events.discard(woken)
        if not events:
            del self._waiting[about]
