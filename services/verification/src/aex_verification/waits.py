"""Requests that wait for a verdict: woken by this process's own work, or else by looking again."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")
_OFTEN = 50
"""So many waits look again that often; where there are more, each looks less often, and all together no more."""
_SOON_S = 0.04
"""The first look of a wait where another replica may do what it waits for; each pause after it is twice as long."""
_REMEMBERED_S = 60.0


class Waits:
    """A bounded number of waits, each for one thing: an attempt's verdict, a contract's next event.

    Each looks again every `look_again_s` seconds. Where another replica has been at work, which wakes nobody here, a
    wait begins with shorter pauses: else half of the verdicts would be told half a second late.
    """

    def __init__(self, limit: int = 500, look_again_s: float = 0.5) -> None:
        self._limit = limit
        self._look_again_s = look_again_s
        self._waiting: dict[str, set[asyncio.Event]] = {}
        self._count = 0
        self._others_until = 0.0
        """Until when others are thought to be at work, on the event loop's clock."""

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
        pause_s = min(_SOON_S, self._look_again_s) if loop.time() < self._others_until else self._look_again_s
        while True:
            left = end - loop.time()
            by_us = left > 0 and await _set_within(woken, min(left, pause_s * max(1.0, self._count / _OFTEN)))
            pause_s = min(2 * pause_s, self._look_again_s)
            woken.clear()
            seen = await look()
            if done(seen) and not by_us:
                self._others_until = loop.time() + _REMEMBERED_S
            if done(seen) or left <= 0:
                return seen

    def _forget(self, about: str, woken: asyncio.Event) -> None:
        events = self._waiting[about]
        events.discard(woken)
        if not events:
            del self._waiting[about]


async def _set_within(event: asyncio.Event, seconds: float) -> bool:
    try:
        await asyncio.wait_for(event.wait(), seconds)
    except TimeoutError:
        return False
    return True
