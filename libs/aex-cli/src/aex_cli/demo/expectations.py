"""What the demo expects of the platform, and how long it waits for it."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

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


async def until(look: Callable[[], Awaitable[T | None]], what: str, within_s: float = PATIENCE_S) -> T:
    """What `look` finds, as soon as it finds something; asked in growing intervals. Raises `NotAsTold` after a bound."""
    loop = asyncio.get_running_loop()
    deadline, pause_s = loop.time() + within_s, _FIRST_PAUSE_S
    while (found := await look()) is None:
        expect(loop.time() < deadline, f"{what} did not come within {within_s:g} s")
        await asyncio.sleep(pause_s)
        pause_s = min(pause_s * 1.5, _LONGEST_PAUSE_S)
    return found
