"""A bounded queue that is fair between lanes: one that sends a hundred jobs does not hold up one that sends two."""

from collections import OrderedDict, deque
from typing import Generic, TypeVar

T = TypeVar("T")


class Lanes(Generic[T]):
    """First in, first out within a lane; one from each lane in turn."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lanes: OrderedDict[str, deque[T]] = OrderedDict()
        self._length = 0

    def __len__(self) -> int:
        return self._length

    @property
    def full(self) -> bool:
        """Whether `put` would exceed the limit."""
        return self._length >= self._limit

    def put(self, lane: str, item: T) -> None:
        """Add an item at the end of its lane. A new lane's turn comes after those that wait."""
        self._lanes.setdefault(lane, deque()).append(item)
        self._length += 1

    def take(self) -> T:
        """The next item. Raises `KeyError` where none waits."""
        lane, items = self._lanes.popitem(last=False)
        item = items.popleft()
        if items:
            self._lanes[lane] = items
        self._length -= 1
        return item

    def withdraw(self, lane: str, item: T) -> bool:
        """Take an item out before its turn; whether it was still there."""
        items = self._lanes.get(lane)
        if items is None or item not in items:
            return False
        items.remove(item)
        if not items:
            del self._lanes[lane]
        self._length -= 1
        return True

    def drain(self) -> list[T]:
        """Take out everything."""
        return [self.take() for _ in range(self._length)]
