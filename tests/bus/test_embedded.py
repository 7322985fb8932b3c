"""The contract on the buses without a server, and processes that share an embedded bus or die on it."""

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
from aex_runtime.bus.memory import MemoryBus
from aex_runtime.bus.port import Bus, BusUnavailable, Retry
from tests.bus.contract import ONLY_WOKEN, PUBLISHER, BusContract, DurableBusContract, OpenBus
from tests.bus.messages import TIMEOUT_S, Recorder, consuming, eventually, outgoing
from tests.bus.worker import KILLER, Worker, working

ENDLESS_VISIBILITY = ConsumePolicy(visibility=timedelta(hours=1))
"""Only the messages of dead consumers are redelivered."""


class TestMemoryBus(BusContract):
    @pytest.fixture
    async def open_bus(self) -> AsyncIterator[OpenBus]:
        opened: list[MemoryBus] = []

        def opener(policy: ConsumePolicy) -> Bus:
            bus = MemoryBus(policy=policy)
            if opened:  # on the same queues, as of another process
                bus._rows, bus._wakes, bus._numbers = opened[0]._rows, opened[0]._wakes, opened[0]._numbers
            opened.append(bus)
            return bus

        yield opener
        for bus in opened:
            await bus.close()


class TestEmbeddedBus(DurableBusContract):
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
    assert await bus.count_unacked(PUBLISHER) == 5


async def test_message_of_a_killed_consumer_is_redelivered_at_once(tmp_path: Path, bus: EmbeddedBus) -> None:
    recorder = Recorder()
    async with working(str(tmp_path), "hold") as worker:
        await bus.publish([outgoing("a")])
        assert await worker.line() == "got a"
        async with consuming(bus, PUBLISHER, recorder):
            await worker.kill()
            await recorder.got(1)
    assert [delivery.attempt for delivery in recorder.deliveries] == [2]
    assert await bus.count_unacked(PUBLISHER) == 0
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
    bus, gate = EmbeddedBus(tmp_path), asyncio.Event()
    recorder = Recorder(gate=gate)
    async with working(str(tmp_path), "hold") as worker:
        await bus.publish([outgoing("a")])
        assert await worker.line() == "got a"
        await stopped_between_transactions(worker, tmp_path)
        async with consuming(bus, PUBLISHER, recorder):
            await recorder.got(1)
            worker.process.send_signal(signal.SIGUSR1)  # it now acks what is no longer its own
            worker.process.send_signal(signal.SIGCONT)
            await asyncio.sleep(0.5)
            assert await bus.count_unacked(PUBLISHER) == 1
            gate.set()
            await eventually(lambda: recorder.running == 0)
    assert recorder.names == ["a"]
    assert await bus.count_unacked(PUBLISHER) == 0
    await bus.close()


@pytest.mark.slow
async def test_two_processes_share_the_work_and_ack_nothing_twice(tmp_path: Path, bus: EmbeddedBus) -> None:
    async with working(str(tmp_path), "consume") as first, working(str(tmp_path), "consume") as second:
        lines, published = [asyncio.create_task(worker.line()) for worker in (first, second)], 0
        while published < 100 or not all(line.done() for line in lines):  # publish until both got some
            await bus.publish([outgoing(str(published)), outgoing(str(published + 1))])
            published += 2
        async with asyncio.timeout(TIMEOUT_S):
            while await bus.count_unacked(PUBLISHER):  # noqa: ASYNC110 other processes empty the queue
                await asyncio.sleep(0.01)
        got = [line.result().removeprefix("got ") for line in lines] + await first.got() + await second.got()
    assert sorted(map(int, got)) == list(range(published))


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
    assert await bus.count_unacked(PUBLISHER) == 2


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


async def test_queues_are_readable_by_their_owner_alone(tmp_path: Path, bus: EmbeddedBus) -> None:
    await bus.publish([outgoing("a")])
    assert (tmp_path / f"{PUBLISHER}.sqlite3").stat().st_mode & 0o077 == 0


SOON = ConsumePolicy(poll=timedelta(seconds=0.05), visibility=timedelta(hours=1), isolation=timedelta(seconds=0.2))


async def lived(directory: Path) -> list[str]:
    """Return what a consumer handles until a message kills it."""
    async with working(str(directory), "die") as worker:
        async with asyncio.timeout(TIMEOUT_S):
            await worker.process.wait()
        return await worker.got()


@pytest.mark.slow
async def test_two_killing_messages_do_not_stop_the_others(tmp_path: Path) -> None:
    bus = EmbeddedBus(tmp_path, policy=SOON)
    good = [f"good-{number}" for number in range(30)]
    await bus.publish([outgoing(name) for name in (f"{KILLER}-1", *good[:15], f"{KILLER}-2", *good[15:])])
    handled: set[str] = set()
    for _ in range(7):
        handled.update(await lived(tmp_path))
        if len(handled) == len(good):
            break
    assert handled == set(good)
    recorder = Recorder()
    async with consuming(bus, PUBLISHER, recorder):
        await recorder.got(2)
    assert sorted(recorder.names) == [f"{KILLER}-1", f"{KILLER}-2"]
    assert all(delivery.died >= 2 for delivery in recorder.deliveries)
    assert recorder.most_running == 1
    await bus.close()


def cut_off(directory: Path, times: int) -> None:
    with closing(sqlite3.connect(directory / f"{PUBLISHER}.sqlite3")) as connection, connection:
        connection.execute("UPDATE messages SET died = ?, attempts = ?", (times, times))


async def test_suspect_is_delivered_alone_after_the_others(tmp_path: Path) -> None:
    bus, recorder = EmbeddedBus(tmp_path, policy=SOON), Recorder(takes=timedelta(seconds=0.1))
    await bus.publish([outgoing("suspect-1"), outgoing("suspect-2")])
    cut_off(tmp_path, 2)
    await bus.publish([outgoing("good-1"), outgoing("good-2")])
    async with consuming(bus, PUBLISHER, recorder):
        await recorder.got(4)
    assert recorder.names == ["good-1", "good-2", "suspect-1", "suspect-2"]
    assert [delivery.died for delivery in recorder.deliveries] == [0, 0, 2, 2]
    assert recorder.times[3] - recorder.times[2] >= 0.1
    await bus.close()


async def test_endless_suspect_blocks_others_briefly(tmp_path: Path) -> None:
    bus, gate = EmbeddedBus(tmp_path, policy=SOON), asyncio.Event()
    recorder = Recorder(gate=gate)
    await bus.publish([outgoing("suspect")])
    cut_off(tmp_path, 2)
    async with consuming(bus, PUBLISHER, recorder):
        await recorder.got(1)
        await bus.publish([outgoing("good")])
        await recorder.got(2)
        assert recorder.running == 2
        gate.set()
    await bus.close()


async def test_result_of_a_delivery_clears_the_suspicion(tmp_path: Path) -> None:
    bus, recorder = EmbeddedBus(tmp_path, policy=SOON), Recorder(Retry(timedelta()))
    await bus.publish([outgoing("a")])
    cut_off(tmp_path, 2)
    async with consuming(bus, PUBLISHER, recorder):
        await recorder.got(2)
    assert [(delivery.attempt, delivery.died) for delivery in recorder.deliveries] == [(3, 2), (4, 0)]
    await bus.close()
