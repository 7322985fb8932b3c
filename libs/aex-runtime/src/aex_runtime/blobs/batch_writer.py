"""Batched writes of small blobs: those that arrive during a write are written together next."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

PutAll = Callable[[Sequence[tuple[str, bytes]]], Sequence[OSError | None]]
"""Function that writes pairs of path and content in a thread; it returns an error or None for each."""
_MAX_GROUP = 64
_SMALL_BYTES = 262_144
"""Larger blobs are written alone, so that no other blob waits for them."""


@dataclass(frozen=True, slots=True)
class _Put:
    path: str
    content: bytes
    done: "asyncio.Future[None]"


class BlobBatchWriter:
    """Writes blobs through `put_all`, several small ones per call, to share the syncs of the disk.

    A few calls for small blobs run at once, each in a thread; each large blob has a call of its own. An instance is for
    one event loop at a time.
    """

    def __init__(self, put_all: PutAll, at_once: int = 4) -> None:
        """`at_once`: the most calls for small blobs that run at the same time; large blobs have no limit."""
        self._put_all = put_all
        self._at_once = at_once
        self._waiting: deque[_Put] = deque()
        self._writing: list[asyncio.Task[None]] = []

    async def put(self, path: str, content: bytes) -> None:
        """Write a blob and wait until it is durable. Raises `OSError`.

        If the caller is cancelled, the blob may be written nevertheless.
        """
        if len(content) > _SMALL_BYTES:
            (failure,) = await asyncio.to_thread(self._put_all, [(path, content)])
            if failure is not None:
                raise failure
            return
        put = _Put(path, content, asyncio.get_running_loop().create_future())
        self._waiting.append(put)
        self._writing = [each for each in self._writing if not each.done()]
        if len(self._writing) < self._at_once:
            self._writing.append(asyncio.create_task(self._write()))
        await put.done

    async def _write(self) -> None:
        try:
            while self._waiting:
                await self._write_group([self._waiting.popleft() for _ in range(min(len(self._waiting), _MAX_GROUP))])
        finally:
            while self._waiting:  # the loop ends: they will not be written
                self._waiting.popleft().done.cancel()

    async def _write_group(self, group: Sequence[_Put]) -> None:
        try:
            failures = await asyncio.to_thread(self._put_all, [(each.path, each.content) for each in group])
        except Exception as error:  # noqa: BLE001 the callers get it
            _resolve(group, [error] * len(group))
        except BaseException:
            for each in group:
                each.done.cancel()
            raise
        else:
            _resolve(group, failures)


def _resolve(group: Sequence[_Put], failures: Sequence[Exception | None]) -> None:
    for each, failure in zip(group, failures, strict=True):
        if each.done.done():
            continue  # its caller gave up
        if failure is None:
            each.done.set_result(None)
        else:
            each.done.set_exception(failure)
