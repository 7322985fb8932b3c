"""Small blobs of several callers that are written together."""

import asyncio
import threading
from collections.abc import Sequence

import pytest

from aex_runtime.blobs.group_puts import GroupPuts

SMALL, LARGE = b"x", b"x" * 262_145


class Disk:
    """Writes what it is given once it may; keeps the paths of each group."""

    def __init__(self) -> None:
        self.groups: list[list[str]] = []
        self._begun = threading.Semaphore(0)
        self.may = threading.Event()
        self.may.set()
        self.fails: dict[str, OSError] = {}
        self.breaks: Exception | None = None

    def put_all(self, blobs: Sequence[tuple[str, bytes]]) -> list[OSError | None]:
        self.groups.append([path for path, _ in blobs])
        self._begun.release()
        assert self.may.wait(5)
        if self.breaks is not None:
            raise self.breaks
        return [self.fails.get(path) for path, _ in blobs]

    async def begins(self) -> None:
        """Until it begins with one more group."""
        assert await asyncio.to_thread(self._begun.acquire, timeout=5)


@pytest.fixture
def disk() -> Disk:
    return Disk()


@pytest.fixture
def puts(disk: Disk) -> GroupPuts:
    return GroupPuts(disk.put_all, at_once=1)


async def begun(puts: GroupPuts, *paths: str, content: bytes = SMALL) -> list[asyncio.Task[None]]:
    tasks = [asyncio.create_task(puts.put(path, content)) for path in paths]
    await asyncio.sleep(0)
    return tasks


async def test_what_comes_while_some_are_written_goes_together_with_the_next(disk: Disk, puts: GroupPuts) -> None:
    disk.may.clear()
    first = await begun(puts, "a")
    await disk.begins()
    second = await begun(puts, "b", "c", "d")
    assert not any(task.done() for task in (*first, *second))
    disk.may.set()
    await asyncio.gather(*first, *second)
    assert disk.groups == [["a"], ["b", "c", "d"]]


async def test_so_many_groups_are_written_at_once(disk: Disk) -> None:
    puts = GroupPuts(disk.put_all, at_once=2)
    disk.may.clear()
    tasks: list[asyncio.Task[None]] = []
    for path in "ab":
        tasks += await begun(puts, path)
        await disk.begins()
    tasks += await begun(puts, "c", "d")
    await asyncio.sleep(0.01)
    assert disk.groups == [["a"], ["b"]]
    disk.may.set()
    await asyncio.gather(*tasks)
    assert disk.groups == [["a"], ["b"], ["c", "d"]]


async def test_who_comes_at_the_moment_when_a_group_ends_is_written(disk: Disk, puts: GroupPuts) -> None:
    async with asyncio.timeout(5):
        for path in "abc":
            await puts.put(path, SMALL)
    assert disk.groups == [["a"], ["b"], ["c"]]


async def test_a_group_has_a_bound(disk: Disk, puts: GroupPuts) -> None:
    paths = [str(number) for number in range(150)]
    await asyncio.gather(*(puts.put(path, SMALL) for path in paths))
    assert [len(group) for group in disk.groups] == [64, 64, 22]
    assert [path for group in disk.groups for path in group] == paths


async def test_a_failure_is_told_to_the_one_whose_it_is(disk: Disk, puts: GroupPuts) -> None:
    disk.fails["b"] = OSError("no room")
    found = await asyncio.gather(*(puts.put(path, SMALL) for path in "abc"), return_exceptions=True)
    assert found == [None, disk.fails["b"], None]


async def test_where_all_fails_all_are_told_and_the_next_goes_well(disk: Disk, puts: GroupPuts) -> None:
    disk.breaks = MemoryError()
    found = await asyncio.gather(*(puts.put(path, SMALL) for path in "ab"), return_exceptions=True)
    assert found == [disk.breaks, disk.breaks]
    disk.breaks = None
    await puts.put("c", SMALL)


async def test_who_gives_up_holds_up_nobody(disk: Disk, puts: GroupPuts) -> None:
    disk.may.clear()
    tasks = await begun(puts, "a", "b")
    await disk.begins()
    tasks[0].cancel()
    disk.may.set()
    await tasks[1]
    assert tasks[0].cancelled()


async def test_a_large_one_is_written_alone_and_nobody_waits_for_it(disk: Disk, puts: GroupPuts) -> None:
    disk.may.clear()
    small = await begun(puts, "small")
    await disk.begins()
    large = await begun(puts, "large", content=LARGE)
    await disk.begins()
    disk.fails["large"] = OSError("no room")
    disk.may.set()
    assert await asyncio.gather(*small, *large, return_exceptions=True) == [None, disk.fails["large"]]
    assert disk.groups == [["small"], ["large"]]


def test_who_still_waits_when_the_loop_ends_is_cancelled_and_another_loop_can_begin(disk: Disk) -> None:
    puts = GroupPuts(disk.put_all)

    async def left_alone() -> None:
        disk.may.clear()
        await begun(puts, "a")
        await disk.begins()
        await begun(puts, "b")
        disk.may.set()

    asyncio.run(left_alone())
    asyncio.run(puts.put("c", SMALL))
    assert disk.groups[-1] == ["c"]
