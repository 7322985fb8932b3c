"""A forked process is waited for, killed at its time, and its exit code is its own."""

import os
import signal
import sys

import pytest

from aex_outcomes.testing.zygote import reap


def start(code: str) -> int:
    return os.posix_spawn(sys.executable, [sys.executable, "-S", "-c", code], dict(os.environ))


@pytest.mark.parametrize(
    ("code", "status"),
    [("", 0), ("raise SystemExit(3)", 3), ("import os; os.kill(os.getpid(), 15)", -signal.SIGTERM)],
)
def test_a_process_that_ends_by_itself_keeps_its_exit_code(code: str, status: int) -> None:
    assert reap(start(code), wait_s=60) == status


@pytest.mark.parametrize("wait_s", [0, 0.05])
def test_a_process_that_does_not_end_is_killed(wait_s: float) -> None:
    assert reap(start("import time; time.sleep(600)"), wait_s) == -signal.SIGKILL
