"""Waiting for a change of a record, until this process announces the change or a poll finds it."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")
_FULL_RATE_WAITS = 50
"""Number of waits that poll at the full rate; with more, each polls less often."""
_FIRST_PAUSE_S = 0.04
"""First pause when another replica is active; each further pause is twice as long."""
_REMEMBERED_S = 60.0


class Notifier:
    """Notifier for a limited number of waits, each on one key such as an attempt or a contract.

    `wake` ends the pause of waits in this process. Changes by other replicas are found by polling every `poll_s`
    seconds, or more often for a minute after one was found.
    """

    def __init__(self, limit: int = 500, poll_s: float = 0.5) -> None:
        self._limit, self._poll_s = limit, poll_s
        self._waiting: dict[str, set[asyncio.Event]] = {}
        self._count = 0
        self._replicas_active_until = 0.0
        """Time on the event loop's clock until which reads are more frequent, as another replica made a change."""

    def __len__(self) -> int:
        return self._count

    def wake(self, key: str) -> None:
        """Make all waits on this key read at once."""
        for event in self._waiting.get(key, ()):
            event.set()

    async def read_until_done(
        self, key: str, timeout_s: float, read: Callable[[], Awaitable[T]], is_done: Callable[[T], bool]
    ) -> T:
        """Call `read` until `is_done` accepts its value or `timeout_s` has passed; return the last value.

        If the maximum of waits is reached, `read` is called once.
        """
        value = await read()
        if is_done(value) or timeout_s <= 0 or self._count >= self._limit:
            return value
        woken = asyncio.Event()
        self._waiting.setdefault(key, set()).add(woken)
        self._count += 1
        loop = asyncio.get_running_loop()
        end = loop.time() + timeout_s
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
