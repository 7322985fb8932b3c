import os
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from aex_cli.suite.lock import suite_lock
from aex_runtime.commandline.errors import UserError
from tests.libs.cli.suites import eventually

HOLD = """
import fcntl, os, sys, time
lock = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
fcntl.flock(lock, fcntl.LOCK_EX)
os.pwrite(lock, sys.argv[2].encode() or str(os.getpid()).encode(), 0)
print("held", flush=True)
time.sleep(float(sys.argv[3]))
"""


def hold(lock: Path, seconds: float, pid: str = "") -> "subprocess.Popen[str]":
    """Another process that holds the lock, and wrote its own process id into it or the one that is given."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(lock), pid, str(seconds)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def dead_pid() -> str:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return str(process.pid)


def refusal(lock: Path, drain_s: float = 0.3) -> str:
    """What another suite is told."""
    with pytest.raises(UserError) as refused:
        ExitStack().enter_context(suite_lock(lock, lambda _: None, drain_s))
    return refused.value.text()


def test_a_second_suite_is_refused_at_once_with_the_process_that_holds_the_lock(tmp_path: Path) -> None:
    with hold(tmp_path / "lock", 60) as holder:
        begin = time.monotonic()
        told = refusal(tmp_path / "lock", drain_s=60)
        assert time.monotonic() - begin < 20  # not the 60 s that the end of a dying suite is waited for
        assert f"held by process {holder.pid}" in told
        assert f"kill {holder.pid}" in told
        assert "--data-dir" in told
        holder.kill()


def test_the_lock_is_free_again_when_its_suite_ends(tmp_path: Path) -> None:
    for _ in range(2):
        with suite_lock(tmp_path / "lock", pytest.fail):
            assert (tmp_path / "lock").read_text() == f"{os.getpid()}\n"


def test_a_lock_file_that_a_crash_left_behind_hinders_nobody(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text("4194304999\n")
    with suite_lock(tmp_path / "lock", pytest.fail):
        assert (tmp_path / "lock").read_text() == f"{os.getpid()}\n"


def test_the_services_of_a_killed_suite_are_waited_for(tmp_path: Path) -> None:
    told: list[str] = []
    with hold(tmp_path / "lock", 1.0, pid=dead_pid()), suite_lock(tmp_path / "lock", told.append):
        assert len(told) == 1
        assert "was killed" in told[0]


def test_waiting_for_the_services_of_a_killed_suite_has_a_bound(tmp_path: Path) -> None:
    with hold(tmp_path / "lock", 60, pid=dead_pid()) as holder:
        assert "have not ended" in refusal(tmp_path / "lock")
        holder.kill()


def test_a_service_that_inherited_the_lock_keeps_it(tmp_path: Path) -> None:
    with suite_lock(tmp_path / "lock", pytest.fail) as descriptor:
        service = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], pass_fds=(descriptor,))
    assert "already running" in refusal(tmp_path / "lock")
    service.kill()
    service.wait()

    def free() -> bool:
        with suite_lock(tmp_path / "lock", pytest.fail):
            return True

    assert eventually(free)
