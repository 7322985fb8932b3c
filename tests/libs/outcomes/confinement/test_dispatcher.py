import asyncio
import subprocess
import sys

from aex_outcomes.confinement import frames
from aex_outcomes.confinement.child import WorkerProcess
from aex_outcomes.confinement.dispatcher import Dispatcher
from aex_outcomes.confinement.settings import Confinement, Setup
from aex_outcomes.confinement.supervisor import PoolSpec


def test_an_answer_that_arrives_after_closing_is_ignored() -> None:
    setup = Setup(jobs=(), warm=(), confinement=Confinement(), retire_above_mb=1)
    dispatcher = Dispatcher(1, 1, 0, 1, PoolSpec(0, setup, 100, 1, 1))
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        child = WorkerProcess(process, 100, dispatcher)
        child.send(b"{}")
        asyncio.run(dispatcher.close())
        child.data_received(frames.add_length_prefix(b'{"result":{},"retire":false}'))
    assert dispatcher.busy == {}
