"""`python -m tests.emulators` as a developer runs it."""

import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.emulators.__main__ import main
from tests.emulators.emulator import EmulatorFailed, OwnEmulator, Program
from tests.emulators.jars import Jars

pytestmark = [pytest.mark.emulator, pytest.mark.slow, pytest.mark.usefixtures("jars")]

COMMAND = [sys.executable, "-m", "tests.emulators"]
VARIABLES = ["FIRESTORE_EMULATOR_HOST", "PUBSUB_EMULATOR_HOST", "AEX_STORE_URL", "AEX_BUS_URL"]
CHILD = f"""
import os, signal, sys, urllib.request
def answer(*_):
    found = urllib.request.urlopen("http://" + os.environ["PUBSUB_EMULATOR_HOST"], timeout=60)
    sys.exit(found.status - 197)
signal.signal(signal.SIGTERM, answer)
print(*(os.environ[name] for name in {VARIABLES}), flush=True)
signal.pause()
"""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 130), (signal.SIGKILL, -9)])
def test_stopped_or_killed_command_leaves_no_process(number: signal.Signals, code: int) -> None:
    with subprocess.Popen(COMMAND, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            exported = [process.stdout.readline().strip().partition("=") for _ in VARIABLES]
            assert [name for name, _, _ in exported] == [f"export {name}" for name in VARIABLES]
            family = psutil.Process(process.pid).children(recursive=True)
            assert sorted(each.name() for each in family) == ["java", "java", "sh", "sh"]
            if number is signal.SIGKILL:
                next(each for each in family if each.name() == "java").suspend()
            process.send_signal(number)
            assert process.wait(60) == code
        finally:
            process.kill()
    assert psutil.wait_procs(family, timeout=60)[1] == []


def test_command_gets_variables_and_sigterm_and_gives_its_exit_code() -> None:
    command = [*COMMAND, "run", "--", sys.executable, "-c", CHILD]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline().split()[2:] == ["firestore://aex-local", "pubsub://aex-local"]
            family = psutil.Process(process.pid).children(recursive=True)
            process.terminate()
            assert process.wait(60) == 3, "the emulator still answered the command"
        finally:
            process.kill()
    assert psutil.wait_procs(family, timeout=60)[1] == []


def test_missing_command_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--", "/no/such/command"]) == 2
    assert capsys.readouterr().err == "/no/such/command: no such command\n"


def test_failed_start_names_the_log(jars: Jars, tmp_path: Path) -> None:
    program = Program("broken", (jars.java, "-jar", str(tmp_path / "no.jar")), "/")
    with pytest.raises(EmulatorFailed, match=f"ended at its start: see {tmp_path}/broken.log"):
        OwnEmulator(program, tmp_path)
    assert "Unable to access jarfile" in (tmp_path / "broken.log").read_text()
