"""`python -m tests.emulators` as a developer runs it."""

import signal
import subprocess
import sys
from collections.abc import Iterator

import psutil
import pytest

from tests.emulators.jars import Jars

pytestmark = [pytest.mark.emulator, pytest.mark.slow, pytest.mark.usefixtures("jars")]

COMMAND = [sys.executable, "-m", "tests.emulators"]
VARIABLES = ["FIRESTORE_EMULATOR_HOST", "PUBSUB_EMULATOR_HOST", "AEX_STORE_URL", "AEX_BUS_URL"]


@pytest.fixture
def staying(jars: Jars) -> Iterator["subprocess.Popen[str]"]:
    del jars
    with subprocess.Popen(COMMAND, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def printed(process: "subprocess.Popen[str]") -> dict[str, str]:
    """The variables that it exports."""
    assert process.stdout is not None
    lines = [process.stdout.readline().strip() for _ in VARIABLES]
    assert all(line.startswith("export ") for line in lines)
    return dict(line.removeprefix("export ").split("=", 1) for line in lines)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_prints_the_variables_stays_until_it_is_stopped_and_leaves_nothing(
    staying: "subprocess.Popen[str]", number: signal.Signals
) -> None:
    exported = printed(staying)
    assert list(exported) == VARIABLES
    assert exported["AEX_STORE_URL"] == "firestore://aex-local"
    assert exported["AEX_BUS_URL"] == "pubsub://aex-local"
    family = psutil.Process(staying.pid).children(recursive=True)
    assert sorted({each.name() for each in family}) == ["java", "sh"]
    staying.send_signal(number)
    assert staying.wait(60) == 128 + number
    assert psutil.wait_procs(family, timeout=5)[1] == []


def test_a_command_runs_with_the_variables_and_its_exit_code_is_the_answer() -> None:
    script = (
        "import os, sys, urllib.request;"
        f"print(*(os.environ[name] for name in {VARIABLES}));"
        "print(urllib.request.urlopen('http://' + os.environ['PUBSUB_EMULATOR_HOST'], timeout=5).status);"
        "sys.exit(7)"
    )
    command = [*COMMAND, "run", "--", sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 7, done.stderr
    assert done.stdout.splitlines()[1] == "200"


def test_a_command_that_is_not_there_is_named() -> None:
    command = [*COMMAND, "run", "--", "/no/such/command"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (2, "/no/such/command: No such file or directory\n")


def test_sigterm_reaches_the_command_and_the_emulators_outlive_it() -> None:
    script = (
        "import signal, sys, urllib.request, os, threading;"
        "host = os.environ['PUBSUB_EMULATOR_HOST'];"
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(urllib.request.urlopen('http://' + host, timeout=5).status "
        "- 197));"
        "print('ready', flush=True);"
        "signal.pause()"
    )
    command = [*COMMAND, "run", "--", sys.executable, "-c", script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        family = psutil.Process(process.pid).children(recursive=True)
        process.terminate()
        assert process.wait(20) == 3
    assert psutil.wait_procs(family, timeout=5)[1] == []
