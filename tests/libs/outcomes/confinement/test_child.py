"""A worker that nobody waits for any longer."""

import asyncio
import gc
import os

import pytest

from aex_outcomes.confinement.child import Child, start
from aex_outcomes.confinement.settings import Confinement, Setup
from tests.libs.outcomes.confinement.service import JOBS, children_of

SETUP = Setup(jobs=(JOBS + "echo",), warm=(), confinement=Confinement(), retire_above_mb=100)


class Indifferent:
    """Whoever is told, and does nothing about it."""

    def answered(self, child: Child, body: bytes) -> None:
        del child, body

    def lost(self, child: Child, reason: str) -> None:
        del child, reason


@pytest.mark.parametrize("turns", range(8))
async def test_cancelled_wherever_its_start_stands_it_is_gone_and_nothing_is_complained_of(turns: int) -> None:
    others = children_of(os.getpid())
    heard: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: heard.append(context["message"]))
    starting = asyncio.create_task(start(SETUP, 1_000_000, Indifferent(), 60))
    for _ in range(turns):
        await asyncio.sleep(0)
    starting.cancel()
    await asyncio.gather(starting, return_exceptions=True)
    del starting
    await asyncio.sleep(0.01)  # until its connection is closed
    gc.collect()  # what nobody has looked at is complained of as it goes
    assert heard == []
    assert children_of(os.getpid()) == others
