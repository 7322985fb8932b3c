"""Bounded queue that serves named queues in turn: a hundred items of one do not delay two of another."""

from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class FairQueue(Generic[T]):
    """Queue of items in named queues, which are served in turn; `limit` bounds all items together."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._queues: OrderedDict[str, deque[T]] = OrderedDict()
        self._length = 0

    def __len__(self) -> int:
        return self._length

    @property
    def is_full(self) -> bool:
        """Return True if the queue has as many items as its limit."""
        return self._length >= self._limit

    def put(self, queue: str, item: T) -> None:
        """Append an item to its named queue, whatever the limit; a new named queue is served last."""
        self._queues.setdefault(queue, deque()).append(item)
        self._length += 1

    def has_space_by_displacing(self, queue: str) -> bool:
        """Return True if there is space for an item of the named queue, or another may be displaced for it.

        An item is displaced only if its queue would still be at least as long as the named one.
        """
        if not self.is_full or not self._queues:
            return not self.is_full
        return len(self._queues[self._longest()]) > len(self._queues.get(queue, ())) + 1

    def remove_newest_of_longest_if_full(self) -> T | None:
        """Remove and return the newest item of the longest named queue if the limit is reached, else None."""
        if not self.is_full or not self._queues:
            return None
        longest = self._longest()
        item = self._queues[longest].pop()
        self._forget(longest)
        return item

    def take_next(self, accepts: Callable[[str], bool] = lambda _: True) -> T:
        """Remove and return the next item of those named queues for which `accepts` returns True.

        Its queue then comes last. Raises `KeyError` if there is no such item.
        """
        queue = next(filter(accepts, self._queues), None)
        if queue is None:
            raise KeyError("no queue has an item")
        item = self._queues[queue].popleft()
        self._queues.move_to_end(queue)
        self._forget(queue)
        return item

    def remove_if_waiting(self, queue: str, item: T) -> bool:
        """Remove an item before its turn; return False if it is not in the queue."""
        items = self._queues.get(queue)
        if items is None or item not in items:
            return False
        items.remove(item)
        self._forget(queue)
        return True

    def drain(self) -> list[T]:
        """Remove and return all items, in the order in which they would have been served."""
        return [self.take_next() for _ in range(self._length)]

    def _longest(self) -> str:
        return max(self._queues, key=lambda queue: len(self._queues[queue]))

    def _forget(self, queue: str) -> None:
        """Count a removed item, and drop its named queue if it is empty."""
        self._length -= 1
        if not self._queues[queue]:
            del self._queues[queue]
