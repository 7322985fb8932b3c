"""A slice of `make load`: its times are nobody's test, what it counts and that nothing is lost are."""

import subprocess
import sys

import pytest

from tests.benchmarks.load.runs import EMULATORS
from tests.e2e.backend import EMBEDDED
from tests.e2e.live import clean_environment
from tests.libs.cli.suites import ROOT

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(300)]
CONTRACTS, PAIRS = 20, 4


def load(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.benchmarks.load", *arguments]
    return subprocess.run(command, check=False, cwd=ROOT, env=clean_environment(), capture_output=True, text=True)


@pytest.mark.parametrize(
    ("backend", "replicas"),
    [(EMBEDDED.name, ["1", "2"]), pytest.param(EMULATORS, ["2"], marks=pytest.mark.emulator)],
)
def test_a_load_is_settled_once_on_so_many_replicas_and_told_as_a_table(backend: str, replicas: list[str]) -> None:
    size = ["--contracts", str(CONTRACTS), "--pairs", str(PAIRS), "--processes", "2"]
    done = load("--backends", backend, "--replicas", ",".join(replicas), *size)
    assert done.returncode == 0, done.stdout + done.stderr
    told = done.stdout.splitlines()
    assert told[-1] == "whatever was accepted is settled, once"
    rows = [line.split() for line in told if line.startswith(f"{backend} ")]
    assert [(row[1], " ".join(row[2:-15])) for row in rows] == [
        (each, loop) for each in replicas for loop in (f"{PAIRS} at once", "at half")
    ]
    for row in rows:
        accepted, settled, errors, again = map(int, row[-5:-1])
        assert accepted == settled == (CONTRACTS // 2 if "half" in row else CONTRACTS)
        assert (errors, again) == (0, 0)
        per_s, *times = map(float, row[-15:-5])
        assert per_s > 0
        for place in range(0, len(times), 3):
            assert times[place : place + 3] == sorted(times[place : place + 3])
    beside_one = "1.00" if "1" in replicas else "–"
    assert [row[-1] for row in rows[:2]] == [beside_one] * 2


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--backends", "paper"], "--backends"),
        (["--replicas", "0"], "--replicas"),
        (["--replicas", "two"], "--replicas"),
        (["--pairs", "24", "--contracts", "100"], "five contracts for each pair"),
        (["--pairs", "1", "--processes", "2"], "a pair for each process"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_starts(arguments: list[str], named: str) -> None:
    done = load(*arguments)
    assert done.returncode == 2
    assert named in done.stderr
