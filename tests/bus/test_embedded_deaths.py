import asyncio
import sqlite3
import sys
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from aex_runtime.bus.consume_loop import ConsumePolicy
from aex_runtime.bus.embedded import EmbeddedBus
from aex_runtime.bus.port import Retry
from tests.bus.contract import PUBLISHER
from tests.bus.dying_worker import KILLER
from tests.bus.messages import TIMEOUT_S, Recorder, consuming, outgoing
from tests.bus.workers import ROOT

SOON = ConsumePolicy(poll=timedelta(seconds=0.05), visibility=timedelta(hours=1), isolation=timedelta(seconds=0.2))


async def lived(directory: Path) -> list[str]:
    command = [sys.executable, "-m", "tests.bus.dying_worker", str(directory)]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE, cwd=ROOT)
    try:
        async with asyncio.timeout(TIMEOUT_S):
            output, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
    return [line.removeprefix("handled ") for line in output.decode().splitlines()]


@pytest.mark.slow
async def test_two_killing_messages_do_not_stop_the_others(tmp_path: Path) -> None:
    bus = EmbeddedBus(tmp_path, policy=SOON)
    good = [f"good-{number}" for number in range(30)]
    await bus.publish([outgoing(name) for name in (f"{KILLER}-1", *good[:15], f"{KILLER}-2", *good[15:])])
    handled: list[str] = []
    for _ in range(7):
        handled += await lived(tmp_path)
        if len(handled) == len(good):
            break
    assert sorted(handled) == sorted(good)
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
    bus, recorder = EmbeddedBus(tmp_path, policy=SOON), Recorder(takes=timedelta(seconds=3))
    await bus.publish([outgoing("suspect")])
    cut_off(tmp_path, 2)
    async with consuming(bus, PUBLISHER, recorder):
        await recorder.got(1)
        await bus.publish([outgoing("good")])
        await recorder.got(2)
        assert recorder.running == 2
    await bus.close()


async def test_result_of_a_delivery_clears_the_suspicion(tmp_path: Path) -> None:
    bus, recorder = EmbeddedBus(tmp_path, policy=SOON), Recorder(Retry(timedelta()))
    await bus.publish([outgoing("a")])
    cut_off(tmp_path, 2)
    async with consuming(bus, PUBLISHER, recorder):
        await recorder.got(2)
    assert [(delivery.attempt, delivery.died) for delivery in recorder.deliveries] == [(3, 2), (4, 0)]
    await bus.close()
