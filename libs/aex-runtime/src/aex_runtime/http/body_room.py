"""How many bytes of large bodies a process holds at once: of one caller, and of all."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from aex_runtime.errors import RateLimited, TemporarilyUnavailable

SMALL_BYTES = 65_536
"""Bodies up to this need no room: there is one for each connection at most."""
HUGE_BYTES = 1_000_000
_RETRY_AFTER_S = 1


class BodyRoom:
    """Room for the bodies of requests under way. A body grows into it as it comes, and leaves it with its request."""

    def __init__(self, of_one: int = 64_000_000, of_all: int = 256_000_000) -> None:
        self._of_one, self._of_all = of_one, of_all
        self._held: Counter[str] = Counter()
        self.huge_turn = asyncio.Lock()
        """Held while a body above `HUGE_BYTES` is parsed: several threads at it would keep the event loop waiting for
        seconds, and be no quicker."""

    @property
    def held(self) -> int:
        """Bytes that are held."""
        return self._held.total()

    @contextmanager
    def place(self, caller: str) -> Iterator["BodyPlace"]:
        """The place of one request's body, until the block ends."""
        place = BodyPlace(self, caller)
        try:
            yield place
        finally:
            self.grow(caller, -place.size)

    def grow(self, caller: str, more: int) -> None:
        """So many bytes more (or less). Raises `RateLimited` and `TemporarilyUnavailable`; then nothing is taken."""
        if more > 0 and self._held[caller] + more > self._of_one:
            message = f"your requests under way hold {self._of_one // 1_000_000} MB: let some of them end first"
            raise RateLimited("too_many_bytes", message, retry_after_s=_RETRY_AFTER_S)
        if more > 0 and self.held + more > self._of_all:
            message = "no room for further large bodies: this instance is busy"
            raise TemporarilyUnavailable("bodies_busy", message, retry_after_s=_RETRY_AFTER_S)
        self._held[caller] += more
        if not self._held[caller]:
            del self._held[caller]


class BodyPlace:
    """What one body takes up."""

    def __init__(self, room: BodyRoom, caller: str) -> None:
        self._room, self._caller = room, caller
        self.size = 0

    def hold(self, size: int) -> None:
        """The body has grown to this. Raises what `BodyRoom.grow` does."""
        if size > SMALL_BYTES:
            self._room.grow(self._caller, size - self.size)
            self.size = size
