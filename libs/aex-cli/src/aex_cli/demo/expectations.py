"""What the demo expects of the platform, and how long it waits for it."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from aex_client import NotFound

T = TypeVar("T")
PATIENCE_S = 30.0
_FIRST_PAUSE_S = 0.02
_LONGEST_PAUSE_S = 0.5


class NotAsTold(Exception):
    """The platform did something else than the demo tells."""


def expect(holds: bool, otherwise: str) -> None:
    """Raise `NotAsTold` where it does not hold."""
    if not holds:
        raise NotAsTold(otherwise)


def given(value: T | None, what: str) -> T:
    """The value. Raises `NotAsTold` where there is none."""
    if value is None:
        raise NotAsTold(f"{what} is missing")
    return value


async def until(
    look: Callable[[], Awaitable[T]], what: str, settled: Callable[[T], bool] = bool, within_s: float = PATIENCE_S
) -> T:
    """What `look` answers, as soon as it is there (not 404) and settled; asked in growing intervals.

    Raises `NotAsTold` after `within_s` seconds.
    """
    loop = asyncio.get_running_loop()
    deadline, pause_s = loop.time() + within_s, _FIRST_PAUSE_S
    while loop.time() < deadline:
        try:
            found = await look()
        except NotFound:
            pass
        else:
            if settled(found):
                return found
        await asyncio.sleep(pause_s)
        pause_s = min(pause_s * 1.5, _LONGEST_PAUSE_S)
    raise NotAsTold(f"{what} did not come within {within_s:g} s")
