import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from aex_cli.suite.data_directory import lock_data_directory, prepare_data_directory
from aex_runtime.commandline import UserError
from tests.libs.cli.suites import eventually

HOLD = """
import fcntl, os, sys
lock = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
fcntl.flock(lock, fcntl.LOCK_EX)
os.pwrite(lock, sys.argv[2].encode() or str(os.getpid()).encode(), 0)
print("held", flush=True)
sys.stdin.read()
"""


def hold(lock: Path, pid: str = "") -> "subprocess.Popen[str]":
    """Another process that holds the lock until its input ends.

    It wrote its own process id into the lock, or the one that is given.
    """
    pipe = subprocess.PIPE
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(lock), pid], stdin=pipe, stdout=pipe, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def dead_pid() -> str:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return str(process.pid)


def refusal(folder: Path, drain_s: float = 0.3) -> str:
    with pytest.raises(UserError) as refused:
        ExitStack().enter_context(lock_data_directory(folder, lambda _: None, drain_s))
    return refused.value.text()


def test_second_suite_is_refused_at_once_with_the_process_that_holds_the_lock(tmp_path: Path) -> None:
    with hold(tmp_path / "lock") as holder:
        printed = refusal(tmp_path, drain_s=3_600)
        for part in (f"held by process {holder.pid}", f"kill {holder.pid}", "--data-dir"):
            assert part in printed


def test_lock_is_free_after_its_suite_ends_and_after_a_crash(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text("4194304999\n")  # the process id of a crashed suite
    for _ in range(2):
        with lock_data_directory(tmp_path, pytest.fail):
            assert (tmp_path / "lock").read_text() == f"{os.getpid()}\n"


def test_start_waits_for_the_services_of_a_killed_suite_up_to_a_limit(tmp_path: Path) -> None:
    printed: list[str] = []

    def end_service(line: str) -> None:
        printed.append(line)
        assert service.stdin is not None
        service.stdin.close()

    with hold(tmp_path / "lock", pid=dead_pid()) as service, lock_data_directory(tmp_path, end_service, drain_s=600):
        assert len(printed) == 1
        assert "was killed" in printed[0]
    with hold(tmp_path / "lock", pid=dead_pid()):
        assert "have not ended" in refusal(tmp_path)


def test_service_that_inherits_the_lock_keeps_it(tmp_path: Path) -> None:
    with lock_data_directory(tmp_path, pytest.fail) as descriptor:
        service = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], pass_fds=(descriptor,))
    assert "already running" in refusal(tmp_path)
    service.kill()
    service.wait()

    def free() -> bool:
        with lock_data_directory(tmp_path, pytest.fail):
            return True

    assert eventually(free)


def test_new_directory_is_private_and_versioned(tmp_path: Path) -> None:
    directory = prepare_data_directory(tmp_path / "deep" / ".aex")
    assert directory.stat().st_mode & 0o777 == 0o700
    assert (directory / "version").read_text() == "2\n"
    assert (directory / "logs").stat().st_mode & 0o777 == 0o700


def test_directory_of_another_release_is_refused(tmp_path: Path) -> None:
    (tmp_path / "version").write_text("99\n")
    with pytest.raises(UserError, match="'99'") as refused:
        prepare_data_directory(tmp_path)
    assert "--data-dir" in refused.value.text()


def test_folder_with_other_files_is_refused_and_unchanged(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("…")
    with pytest.raises(UserError, match="other files"):
        prepare_data_directory(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_file_as_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(UserError, match="not a folder"):
            prepare_data_directory(path)
