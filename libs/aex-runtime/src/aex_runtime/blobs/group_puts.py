"""Small blobs of several callers, written together: what comes while some are written goes with the next."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

PutAll = Callable[[Sequence[tuple[str, bytes]]], Sequence[OSError | None]]
"""Writes blobs (path, content), in a thread; for each of them why it could not be written."""
_MOST = 64
_SMALL_BYTES = 262_144
"""A larger one is written alone: nobody else should have to wait for it."""


@dataclass(frozen=True, slots=True)
class _Put:
    path: str
    content: bytes
    done: "asyncio.Future[None]"


class GroupPuts:
    """A few groups are written at a time, each in a thread: on a disk whose syncs are slow, they share these too.

    Who comes while fewer are written waits for nobody. Belongs to one event loop at a time.
    """

    def __init__(self, put_all: PutAll, at_once: int = 4) -> None:
        """`at_once`: groups that are written at the same time."""
        self._put_all = put_all
        self._at_once = at_once
        self._waiting: deque[_Put] = deque()
        self._writing: list[asyncio.Task[None]] = []

    async def put(self, path: str, content: bytes) -> None:
        """Write a blob. Raises `OSError`. Written it may be though its caller gives up."""
        if len(content) > _SMALL_BYTES:
            await self._put_alone(path, content)
            return
        put = _Put(path, content, asyncio.get_running_loop().create_future())
        self._waiting.append(put)
        self._writing = [each for each in self._writing if not each.done()]
        if len(self._writing) < self._at_once:
            self._writing.append(asyncio.create_task(self._write()))
        await put.done

    async def _put_alone(self, path: str, content: bytes) -> None:
        (failure,) = await asyncio.to_thread(self._put_all, [(path, content)])
        if failure is not None:
            raise failure

    async def _write(self) -> None:
        try:
            while self._waiting:
                await self._write_group([self._waiting.popleft() for _ in range(min(len(self._waiting), _MOST))])
        finally:
            while self._waiting:  # the loop ends: nobody writes them any more
                self._waiting.popleft().done.cancel()

    async def _write_group(self, group: Sequence[_Put]) -> None:
        try:
            failures = await asyncio.to_thread(self._put_all, [(each.path, each.content) for each in group])
        except Exception as error:  # noqa: BLE001 the callers get it
            _answer(group, [error] * len(group))
        except BaseException:
            for each in group:
                each.done.cancel()
            raise
        else:
            _answer(group, failures)


def _answer(group: Sequence[_Put], failures: Sequence[Exception | None]) -> None:
    for each, failure in zip(group, failures, strict=True):
        if each.done.done():
            continue  # its caller gave up
        if failure is None:
            each.done.set_result(None)
        else:
            each.done.set_exception(failure)
