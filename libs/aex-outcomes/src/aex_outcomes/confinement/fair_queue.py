"""A bounded queue that takes one item of each named queue in turn: a hundred jobs do not delay two."""

from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class FairQueue(Generic[T]):
    """A bounded queue of named queues that are served in turn."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._queues: OrderedDict[str, deque[T]] = OrderedDict()
        self._length = 0

    def __len__(self) -> int:
        return self._length

    @property
    def is_full(self) -> bool:
        """Return True when `put` would exceed the limit."""
        return self._length >= self._limit

    def put(self, queue: str, item: T) -> None:
        """Append an item to its named queue. A new queue comes after the existing ones."""
        self._queues.setdefault(queue, deque()).append(item)
        self._length += 1

    def admits(self, queue: str) -> bool:
        """Return whether an item fits, or the newest of a longer queue may give way to it."""
        if not self.is_full or not self._queues:
            return not self.is_full
        return len(self._queues[self._longest()]) > len(self._queues.get(queue, ())) + 1

    def displace_newest(self) -> T | None:
        """Remove and return the newest item of the longest queue; None if the queue is not full."""
        if not self.is_full or not self._queues:
            return None
        longest = self._longest()
        item = self._queues[longest].pop()
        self._forget(longest)
        return item

    def take(self, accepts: Callable[[str], bool] = lambda _: True) -> T:
        """Remove and return the next item of the queues that `accepts` names. Raises `KeyError` without one."""
        queue = next(filter(accepts, self._queues), None)
        if queue is None:
            raise KeyError("no queue has an item")
        item = self._queues[queue].popleft()
        self._queues.move_to_end(queue)
        self._forget(queue)
        return item

    def withdraw(self, queue: str, item: T) -> bool:
        """Remove an item before its turn; return False when it is no longer queued."""
        items = self._queues.get(queue)
        if items is None or item not in items:
            return False
        items.remove(item)
        self._forget(queue)
        return True

    def drain(self) -> list[T]:
        """Remove and return all items."""
        return [self.take() for _ in range(self._length)]

    def _longest(self) -> str:
        return max(self._queues, key=lambda queue: len(self._queues[queue]))

    def _forget(self, queue: str) -> None:
        """Count a removed item, and drop its queue where that was the last."""
        self._length -= 1
        if not self._queues[queue]:
            del self._queues[queue]
