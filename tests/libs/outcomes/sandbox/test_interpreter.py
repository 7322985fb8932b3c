import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from aex_outcomes.sandbox.interpreter import ParentDeathPipe
from tests.security.sandbox.watch import descendants

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such signal")

SLEEPS = [sys.executable, "-c", "import time; time.sleep(60)"]


def is_gone(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] in "ZX"
    except FileNotFoundError:
        return True


def soon(reached: Callable[[], bool]) -> bool:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if reached():
            return True
        time.sleep(0.005)
    return False


def test_a_child_is_killed_as_its_pipe_is_closed() -> None:
    death_pipe = ParentDeathPipe()
    with death_pipe.pass_to_child():
        child = subprocess.Popen(SLEEPS, close_fds=False)
        death_pipe.kill_child_on_close(child.pid)
    other = subprocess.Popen(SLEEPS)
    try:
        assert child.poll() is None
        death_pipe.close()
        assert child.wait(60) == -signal.SIGKILL
        assert other.poll() is None
    finally:
        for each in (child, other):
            each.kill()
            each.wait()


@pytest.mark.slow
def test_an_interpreter_in_a_native_loop_ends_with_a_killed_service() -> None:
    command = [sys.executable, "-m", "tests.libs.outcomes.sandbox.service"]
    service = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert service.stdout is not None
    below: list[int] = []
    try:
        with service.stdout:
            while "it runs" not in (line := service.stdout.readline()):
                assert line, "it ended"
        below = descendants(service.pid)
        names = {Path(f"/proc/{each}/comm").read_text(encoding="ascii").strip() for each in below}
        assert "monty" in names
        service.kill()
        assert soon(lambda: all(map(is_gone, below)))
    finally:
        service.kill()
        service.wait()
        for each in below:
            with contextlib.suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)
