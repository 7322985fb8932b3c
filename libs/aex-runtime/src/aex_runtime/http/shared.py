"""One look for all who ask at once: what anybody may ask must not cost more the oftener it is asked."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class SharedLook(Generic[T]):
    """Looks when it is asked; whoever asks while a look is under way gets what that one finds."""

    def __init__(self, look: Callable[[], Awaitable[T]]) -> None:
        self._look = look
        self._under_way: asyncio.Task[T] | None = None

    async def __call__(self) -> T:
        """What is found. Goes on looking for the others where one of those who ask goes away."""
        if self._under_way is None or self._under_way.done():
            self._under_way = asyncio.create_task(self._found())
        return await asyncio.shield(self._under_way)

    async def _found(self) -> T:
        return await self._look()
