"""Messages that kill the process that handles them: they take others down twice, then themselves alone."""

import asyncio
import sqlite3
import sys
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from aex_runtime.bus.consumption import Pace
from aex_runtime.bus.embedded import EmbeddedBus
from aex_runtime.bus.port import Retry
from tests.bus.contract import PUBLISHER
from tests.bus.dying_worker import KILLER
from tests.bus.messages import PATIENCE_S, Recorder, consuming, outgoing
from tests.bus.workers import ROOT

SOON = Pace(poll=timedelta(seconds=0.05), visibility=timedelta(hours=1), patience=timedelta(seconds=0.2))


async def lived(directory: Path) -> list[str]:
    """What a consumer handled before it died."""
    command = [sys.executable, "-m", "tests.bus.dying_worker", str(directory)]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE, cwd=ROOT)
    try:
        async with asyncio.timeout(PATIENCE_S):
            said, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
    return [line.removeprefix("handled ") for line in said.decode().splitlines()]


@pytest.mark.slow
async def test_two_killers_among_good_messages_harm_these_twice_and_no_longer(tmp_path: Path) -> None:
    bus = EmbeddedBus(tmp_path, pace=SOON)
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
    """As if so many processes had died over all that waits."""
    with closing(sqlite3.connect(directory / f"{PUBLISHER}.sqlite3")) as connection, connection:
        connection.execute("UPDATE messages SET died = ?, attempts = ?", (times, times))


async def test_one_that_is_suspected_comes_after_the_others_and_alone(tmp_path: Path) -> None:
    bus, recorder = EmbeddedBus(tmp_path, pace=SOON), Recorder(takes=timedelta(seconds=0.1))
    await bus.publish([outgoing("suspect-1"), outgoing("suspect-2")])
    cut_off(tmp_path, 2)
    await bus.publish([outgoing("good-1"), outgoing("good-2")])
    async with consuming(bus, PUBLISHER, recorder):
        await recorder.got(4)
    assert recorder.names == ["good-1", "good-2", "suspect-1", "suspect-2"]
    assert [delivery.died for delivery in recorder.deliveries] == [0, 0, 2, 2]
    assert recorder.times[3] - recorder.times[2] >= 0.1
    await bus.close()


async def test_one_that_never_ends_holds_up_nobody_for_long(tmp_path: Path) -> None:
    bus, recorder = EmbeddedBus(tmp_path, pace=SOON), Recorder(takes=timedelta(seconds=3))
    await bus.publish([outgoing("suspect")])
    cut_off(tmp_path, 2)
    async with consuming(bus, PUBLISHER, recorder):
        await recorder.got(1)
        await bus.publish([outgoing("good")])
        await recorder.got(2)
        assert recorder.running == 2
    await bus.close()


async def test_a_delivery_that_had_an_end_clears_the_suspicion(tmp_path: Path) -> None:
    bus, recorder = EmbeddedBus(tmp_path, pace=SOON), Recorder(Retry(timedelta()))
    await bus.publish([outgoing("a")])
    cut_off(tmp_path, 2)
    async with consuming(bus, PUBLISHER, recorder):
        await recorder.got(2)
    assert [(delivery.attempt, delivery.died) for delivery in recorder.deliveries] == [(3, 2), (4, 0)]
    await bus.close()
