import asyncio
import gc
import os

import pytest

from aex_outcomes.confinement.child import WorkerProcess, start_worker
from aex_outcomes.confinement.settings import Confinement, Setup
from tests.libs.outcomes.confinement.service import JOBS, children_of

SETUP = Setup(jobs=(JOBS + "echo",), warm=(), confinement=Confinement(), retire_above_mb=100)


class Indifferent:
    def on_answer(self, child: WorkerProcess, body: bytes) -> None:
        del child, body

    def on_loss(self, child: WorkerProcess, reason: str) -> None:
        del child, reason


@pytest.mark.parametrize("turns", range(8))
async def test_cancelled_wherever_its_start_stands_it_is_gone_and_nothing_is_complained_of(turns: int) -> None:
    others = children_of(os.getpid())
    received_messages: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: received_messages.append(context["message"]))
    starting = asyncio.create_task(start_worker(SETUP, 1_000_000, Indifferent(), 60))
    for _ in range(turns):
        await asyncio.sleep(0)
    starting.cancel()
    await asyncio.gather(starting, return_exceptions=True)
    del starting
    await asyncio.sleep(0.01)  # until its connection is closed
    gc.collect()  # an unretrieved exception is logged on collection
    assert received_messages == []
    assert children_of(os.getpid()) == others
