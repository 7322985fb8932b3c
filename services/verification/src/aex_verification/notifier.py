"""Waits for a change: woken by this process's own work, else by polling."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")
_FULL_RATE_WAITS = 50
"""Waits that poll at the full rate; where there are more, each polls less often, and all together no more."""
_FIRST_PAUSE_S = 0.04
"""First pause where another replica may be at work; each pause after it is twice as long."""
_REMEMBERED_S = 60.0


class Notifier:
    """Bounded number of waits, each for one key: an attempt's verdict, a contract's next event.

    Each wait polls every `poll_s` seconds. A change by another replica wakes no wait here. After one, waits begin with
    shorter pauses: else half of the verdicts would arrive half a second late.
    """

    def __init__(self, limit: int = 500, poll_s: float = 0.5) -> None:
        self._limit, self._poll_s = limit, poll_s
        self._waiting: dict[str, set[asyncio.Event]] = {}
        self._count = 0
        self._replicas_active_until = 0.0
        """On the event loop's clock."""

    def __len__(self) -> int:
        return self._count

    def wake(self, key: str) -> None:
        """Have all waits for this key read now."""
        for event in self._waiting.get(key, ()):
            event.set()

    async def wait_for(
        self, key: str, seconds: float, read: Callable[[], Awaitable[T]], is_done: Callable[[T], bool]
    ) -> T:
        """Read until `is_done` or the time is over, and return the last value; too many waits read once."""
        value = await read()
        if is_done(value) or seconds <= 0 or self._count >= self._limit:
            return value
        woken = asyncio.Event()
        self._waiting.setdefault(key, set()).add(woken)
        self._count += 1
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        pause_s = min(_FIRST_PAUSE_S, self._poll_s) if loop.time() < self._replicas_active_until else self._poll_s
        try:
            while True:
                left = end - loop.time()
                wait_s = min(left, pause_s * max(1.0, self._count / _FULL_RATE_WAITS))
                if left > 0:
                    with suppress(TimeoutError):
                        await asyncio.wait_for(woken.wait(), wait_s)
                is_woken = woken.is_set()
                pause_s = min(2 * pause_s, self._poll_s)
                woken.clear()
                value = await read()
                if is_done(value) and not is_woken:
                    self._replicas_active_until = loop.time() + _REMEMBERED_S
                if is_done(value) or left <= 0:
                    return value
        finally:
            self._count -= 1
            self._waiting[key].discard(woken)
            if not self._waiting[key]:
                del self._waiting[key]
