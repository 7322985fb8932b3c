import asyncio
import threading
from collections.abc import Sequence

import pytest

from aex_runtime.blobs.batch_writer import BlobBatchWriter
from tests.bus.messages import TIMEOUT_S

SMALL, LARGE = b"x", b"x" * 262_145


class Disk:
    def __init__(self) -> None:
        self.groups: list[list[str]] = []
        self._begun = threading.Semaphore(0)
        self.gate = threading.Event()
        self.gate.set()
        self.fails: dict[str, OSError] = {}
        self.breaks: Exception | None = None

    def put_all(self, blobs: Sequence[tuple[str, bytes]]) -> list[OSError | None]:
        self.groups.append([path for path, _ in blobs])
        self._begun.release()
        assert self.gate.wait(TIMEOUT_S)
        if self.breaks is not None:
            raise self.breaks
        return [self.fails.get(path) for path, _ in blobs]

    async def begins(self) -> None:
        assert await asyncio.to_thread(self._begun.acquire, timeout=TIMEOUT_S)


@pytest.fixture
def disk() -> Disk:
    return Disk()


@pytest.fixture
def puts(disk: Disk) -> BlobBatchWriter:
    return BlobBatchWriter(disk.put_all, at_once=1)


async def begun(puts: BlobBatchWriter, *paths: str, content: bytes = SMALL) -> list[asyncio.Task[None]]:
    tasks = [asyncio.create_task(puts.put(path, content)) for path in paths]
    await asyncio.sleep(0)
    return tasks


async def test_puts_during_a_write_share_the_next_group(disk: Disk, puts: BlobBatchWriter) -> None:
    disk.gate.clear()
    first = await begun(puts, "a")
    await disk.begins()
    second = await begun(puts, "b", "c", "d")
    assert not any(task.done() for task in (*first, *second))
    disk.gate.set()
    await asyncio.gather(*first, *second)
    assert disk.groups == [["a"], ["b", "c", "d"]]


async def test_at_most_two_groups_are_written_at_once(disk: Disk) -> None:
    puts = BlobBatchWriter(disk.put_all, at_once=2)
    disk.gate.clear()
    tasks: list[asyncio.Task[None]] = []
    for path in "ab":
        tasks += await begun(puts, path)
        await disk.begins()
    tasks += await begun(puts, "c", "d")
    await asyncio.sleep(0.01)
    assert disk.groups == [["a"], ["b"]]
    disk.gate.set()
    await asyncio.gather(*tasks)
    assert disk.groups == [["a"], ["b"], ["c", "d"]]


async def test_put_at_the_end_of_a_group_is_written(disk: Disk, puts: BlobBatchWriter) -> None:
    async with asyncio.timeout(TIMEOUT_S):
        for path in "abc":
            await puts.put(path, SMALL)
    assert disk.groups == [["a"], ["b"], ["c"]]


async def test_group_has_at_most_64_blobs(disk: Disk, puts: BlobBatchWriter) -> None:
    paths = [str(number) for number in range(150)]
    await asyncio.gather(*(puts.put(path, SMALL) for path in paths))
    assert [len(group) for group in disk.groups] == [64, 64, 22]
    assert [path for group in disk.groups for path in group] == paths


async def test_failure_reaches_its_caller_alone(disk: Disk, puts: BlobBatchWriter) -> None:
    disk.fails["b"] = OSError("disk full")
    found = await asyncio.gather(*(puts.put(path, SMALL) for path in "abc"), return_exceptions=True)
    assert found == [None, disk.fails["b"], None]
    disk.breaks = MemoryError()
    found = await asyncio.gather(*(puts.put(path, SMALL) for path in "ab"), return_exceptions=True)
    assert found == [disk.breaks, disk.breaks]
    disk.breaks = None
    await puts.put("c", SMALL)


async def test_cancelled_caller_delays_no_other(disk: Disk, puts: BlobBatchWriter) -> None:
    disk.gate.clear()
    tasks = await begun(puts, "a", "b")
    await disk.begins()
    tasks[0].cancel()
    disk.gate.set()
    await tasks[1]
    assert tasks[0].cancelled()


async def test_large_blob_is_written_alone(disk: Disk, puts: BlobBatchWriter) -> None:
    disk.gate.clear()
    small = await begun(puts, "small")
    await disk.begins()
    large = await begun(puts, "large", content=LARGE)
    await disk.begins()
    disk.fails["large"] = OSError("disk full")
    disk.gate.set()
    assert await asyncio.gather(*small, *large, return_exceptions=True) == [None, disk.fails["large"]]
    assert disk.groups == [["small"], ["large"]]


def test_waiting_puts_are_cancelled_when_their_loop_ends(disk: Disk) -> None:
    puts = BlobBatchWriter(disk.put_all)

    async def end_early() -> None:
        disk.gate.clear()
        await begun(puts, "a")
        await disk.begins()
        await begun(puts, "b")
        disk.gate.set()

    asyncio.run(end_early())
    asyncio.run(puts.put("c", SMALL))
    assert disk.groups[-1] == ["c"]
