"""The zygote hands out nothing but what its worker names, and is ended once it does not answer."""

import os
import signal
import socket
import threading
from collections.abc import Iterator

import pytest

from aex_outcomes.sandbox.port import SandboxUnavailable
from aex_outcomes.testing.runner import WorkerTestRunner
from aex_outcomes.testing.zygote_process import ZygoteProcess
from tests.libs.outcomes.graded import Graded

LIST = """
import os
def descriptors():
    found = []
    for each in range(4_096):
        try: os.fstat(each)
        except OSError: continue
        found.append(each)
    return found
"""


@pytest.fixture
def zygote() -> Iterator[ZygoteProcess]:
    process = ZygoteProcess(answer_s=0.5)
    yield process
    process.close()


def test_a_program_has_only_the_standard_streams_and_its_connection() -> None:
    held = [socket.socketpair() for _ in range(60)]  # so that the control socket has a high number
    runner = WorkerTestRunner()
    try:
        found = Graded(runner).one(LIST, "assert descriptors() == [0, 1, 2, 3]")
    finally:
        runner.close()
        for pair in held:
            pair[0].close()
            pair[1].close()
    assert (found.outcome, found.message) == ("passed", "")


def test_a_zygote_that_does_not_answer_is_killed_and_answers_no_later_command(zygote: ZygoteProcess) -> None:
    os.kill(zygote.pid, signal.SIGSTOP)
    with pytest.raises(SandboxUnavailable, match=r"does not answer within 0\.5 s"):
        zygote.fork("candidate", [], memory_mb=64, cpu_s=1)
    with pytest.raises(SandboxUnavailable, match="has ended"):
        zygote.reap(1)
    with pytest.raises(ProcessLookupError):
        os.kill(zygote.pid, 0)


def test_a_closed_zygote_is_closed_once(zygote: ZygoteProcess) -> None:
    zygote.close()
    zygote.close()


def test_a_killed_zygote_refuses_commands(zygote: ZygoteProcess) -> None:
    os.kill(zygote.pid, signal.SIGKILL)
    os.waitid(os.P_PID, zygote.pid, os.WEXITED | os.WNOWAIT)
    with pytest.raises(SandboxUnavailable, match="the process for tests has ended"):
        zygote.reap(1)


def test_a_zygote_that_is_killed_during_a_command_gives_no_answer() -> None:
    zygote = ZygoteProcess()
    os.kill(zygote.pid, signal.SIGSTOP)
    killer = threading.Timer(0.1, os.kill, [zygote.pid, signal.SIGKILL])
    killer.start()
    try:
        with pytest.raises(SandboxUnavailable, match="the process for tests has ended"):
            zygote.reap(1)
    finally:
        killer.join()
        zygote.close()
