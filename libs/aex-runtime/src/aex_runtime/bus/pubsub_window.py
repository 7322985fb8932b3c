"""How many messages of a subscription its server may have delivered that are not answered yet."""

import asyncio
import heapq

_MOST = 1_000
_HURRIED_S = 0.1


class Window:
    """Room for messages to work on, and beside it for those that failed and wait.

    The server cannot tell them apart: it delivers nothing more while as many as it was told are unanswered, so that
    enough of those that wait would keep all others out. It is told once for each stream: with every stream anew.
    """

    def __init__(self, room: int, most: int = _MOST) -> None:
        """`room`: for messages that do not wait. `most`: of both together, unless the room alone is more."""
        self._room = room
        self._most = max(most, room)
        self._size = room
        self._waiting: list[float] = []
        self.outgrown = asyncio.Event()
        """Set where those that wait left less than half the room, and another stream would be given more."""

    def open(self) -> int:
        """The window of a stream that is opened now."""
        self.outgrown.clear()
        self._size = min(self._room + self._count(), self._most)
        return self._size

    def wait_until(self, due_at: float) -> float:
        """A message that failed waits until then, on the event loop's clock; until when it does so really.

        Where so many wait that only the room is left, it comes again at once: it may block nobody, and uses up its
        attempts the sooner.
        """
        if self._most > self._room and self._count() >= self._most - self._room:
            due_at = min(due_at, asyncio.get_running_loop().time() + _HURRIED_S)
        heapq.heappush(self._waiting, due_at)
        if self._size < self._most and self._size - self._count() < self._room / 2:
            self.outgrown.set()
        return due_at

    def _count(self) -> int:
        now = asyncio.get_running_loop().time()
        while self._waiting and self._waiting[0] <= now:
            heapq.heappop(self._waiting)
        return len(self._waiting)
