import asyncio
import signal
import sqlite3
import threading
from collections.abc import AsyncIterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import psutil
import pytest

from aex_runtime.bus.consume_loop import ConsumePolicy
from aex_runtime.bus.embedded import EmbeddedBus
from aex_runtime.bus.port import Bus, BusUnavailable
from tests.bus.contract import ONLY_WOKEN, PUBLISHER, BusContract, OpenBus
from tests.bus.messages import TIMEOUT_S, Recorder, consuming, eventually, outgoing
from tests.bus.workers import Worker, working

ENDLESS_VISIBILITY = ConsumePolicy(visibility=timedelta(hours=1))
"""Only the messages of dead consumers are redelivered."""


class TestEmbeddedBus(BusContract):
    @pytest.fixture
    async def open_bus(self, tmp_path: Path) -> AsyncIterator[OpenBus]:
        opened: list[EmbeddedBus] = []

        def opener(policy: ConsumePolicy) -> Bus:
            opened.append(EmbeddedBus(tmp_path, policy=policy))
            return opened[-1]

        yield opener
        for bus in opened:
            await bus.close()


@pytest.fixture
async def bus(tmp_path: Path) -> AsyncIterator[EmbeddedBus]:
    bus = EmbeddedBus(tmp_path, policy=ENDLESS_VISIBILITY)
    yield bus
    await bus.close()


async def test_messages_survive_the_process_that_published_them(tmp_path: Path, bus: EmbeddedBus) -> None:
    async with working(str(tmp_path), "publish", "5") as worker:
        assert await worker.line() == "published"
        await worker.kill()
    assert await bus.backlog(PUBLISHER) == 5


async def test_message_of_a_killed_consumer_is_redelivered_at_once(tmp_path: Path, bus: EmbeddedBus) -> None:
    recorder = Recorder()
    async with working(str(tmp_path), "hang") as worker:
        await bus.publish([outgoing("a")])
        assert await worker.line() == "got a"
        async with consuming(bus, PUBLISHER, recorder):
            await worker.kill()
            await recorder.got(1)
    assert [delivery.attempt for delivery in recorder.deliveries] == [2]
    assert await bus.backlog(PUBLISHER) == 0
    assert not any((tmp_path / f"{PUBLISHER}.consumers").iterdir())


async def stopped_between_transactions(worker: Worker, folder: Path) -> None:
    """Stop the process, but not while it holds the file's write lock: that would stop all others."""
    while True:
        worker.process.send_signal(signal.SIGSTOP)
        await eventually(lambda: psutil.Process(worker.process.pid).status() == psutil.STATUS_STOPPED)
        try:
            with closing(sqlite3.connect(folder / f"{PUBLISHER}.sqlite3", timeout=0.1)) as connection:
                connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            worker.process.send_signal(signal.SIGCONT)
            await asyncio.sleep(0.05)
        else:
            return


@pytest.mark.slow
async def test_message_of_a_stopped_process_is_redelivered(tmp_path: Path) -> None:
    bus, recorder = EmbeddedBus(tmp_path), Recorder(takes=timedelta(seconds=1))
    async with working(str(tmp_path), "consume") as worker:
        await bus.publish([outgoing("a")])
        assert await worker.line() == "got a"
        await stopped_between_transactions(worker, tmp_path)
        async with consuming(bus, PUBLISHER, recorder):
            await recorder.got(1)
            worker.process.send_signal(signal.SIGCONT)  # it now acks what is no longer its own
            await asyncio.sleep(0.5)
            assert await bus.backlog(PUBLISHER) == 1
            await eventually(lambda: recorder.running == 0)
    assert recorder.names == ["a"]
    assert await bus.backlog(PUBLISHER) == 0
    await bus.close()


@pytest.mark.slow
async def test_two_processes_share_the_work_and_ack_nothing_twice(tmp_path: Path, bus: EmbeddedBus) -> None:
    async with working(str(tmp_path), "consume") as first, working(str(tmp_path), "consume") as second:
        for number in range(0, 200, 2):
            await bus.publish([outgoing(str(number)), outgoing(str(number + 1))])
        async with asyncio.timeout(TIMEOUT_S):
            while await bus.backlog(PUBLISHER):  # noqa: ASYNC110 other processes empty the queue
                await asyncio.sleep(0.01)
        shares = await first.got(), await second.got()
    assert sorted(int(name) for share in shares for name in share) == list(range(200))
    assert all(shares)


async def test_consumer_is_woken_by_a_publisher_in_another_process(tmp_path: Path) -> None:
    bus, recorder = EmbeddedBus(tmp_path, policy=ONLY_WOKEN), Recorder()
    async with consuming(bus, PUBLISHER, recorder):
        await asyncio.sleep(0.1)
        async with working(str(tmp_path), "publish", "3"):
            await recorder.got(3)
    assert recorder.names == ["0", "1", "2"]
    await bus.close()


async def test_publish_waits_for_another_process_that_holds_the_file(tmp_path: Path, bus: EmbeddedBus) -> None:
    await bus.publish([outgoing("a")])
    other = sqlite3.connect(tmp_path / f"{PUBLISHER}.sqlite3", isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    timer = threading.Timer(0.2, lambda: other.execute("ROLLBACK"))
    timer.start()
    await bus.publish([outgoing("b")])
    timer.join()
    other.close()
    assert await bus.backlog(PUBLISHER) == 2


@pytest.mark.parametrize("other_format", [1, 99])
async def test_queue_file_of_another_format_is_refused_and_left_alone(
    tmp_path: Path, bus: EmbeddedBus, other_format: int
) -> None:
    path = tmp_path / f"{PUBLISHER}.sqlite3"
    other = sqlite3.connect(path)
    other.execute(f"PRAGMA user_version = {other_format}")
    other.close()
    with pytest.raises(BusUnavailable, match=f"format {other_format}"):
        await bus.publish([outgoing("a")])


async def test_broken_queue_file_is_unavailable_until_it_is_removed(tmp_path: Path, bus: EmbeddedBus) -> None:
    path, recorder = tmp_path / f"{PUBLISHER}.sqlite3", Recorder()
    path.write_bytes(b"this is no database, and it is long enough to be read as one" * 20)
    for call in (bus.publish([outgoing("a")]), bus.ping()):
        with pytest.raises(BusUnavailable):
            await call
    async with consuming(bus, PUBLISHER, recorder):
        await asyncio.sleep(0.1)
        path.unlink()
        await bus.publish([outgoing("a")])
        await recorder.got(1)
    assert recorder.names == ["a"]


async def test_removed_directory_is_unavailable(tmp_path: Path) -> None:
    bus = EmbeddedBus(tmp_path / "bus")
    await bus.publish([outgoing("a")])
    (tmp_path / "bus").rename(tmp_path / "elsewhere")
    with pytest.raises(BusUnavailable, match="gone"):
        await bus.ping()
    await bus.close()


async def test_closed_bus_is_unavailable(tmp_path: Path) -> None:
    bus = EmbeddedBus(tmp_path)
    await bus.close()
    with pytest.raises(BusUnavailable, match="closed"):
        await bus.publish([outgoing("a")])
    with pytest.raises(BusUnavailable, match="closed"):
        await bus.consume(PUBLISHER, ["work.checked"], Recorder(), 1)


async def test_queues_are_readable_by_their_owner_alone(tmp_path: Path, bus: EmbeddedBus) -> None:
    await bus.publish([outgoing("a")])
    assert (tmp_path / f"{PUBLISHER}.sqlite3").stat().st_mode & 0o077 == 0
