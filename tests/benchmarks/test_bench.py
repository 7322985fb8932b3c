"""A slice of `make bench`: its figures are nobody's test; that they are measured on the real parts is."""

import subprocess
import sys

import pytest

from tests.e2e.live import clean_environment
from tests.libs.cli.suites import ROOT

SURE = ("imported by", "/readyz is red")
"""Rows that no busy machine changes."""
pytestmark = [pytest.mark.slow, pytest.mark.e2e, pytest.mark.timeout(300)]


def run(*arguments: str) -> list[str]:
    command = [sys.executable, "-m", "tests.benchmarks", "--rounds", "1", "--seconds", "0.4", *arguments]
    done = subprocess.run(command, check=False, cwd=ROOT, env=clean_environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("group", "rows"),
    [
        ("publishing", ["without evaluation data", "with evaluation data", "and a key"]),
        ("settling", ["p95", "p50"]),
        ("starting", ["start to ready: verification", "imported by settlement"]),
        ("health", ["none under verification", "stranger's process"]),
        ("readiness", ["store file locked", "queue files locked", "Firestore", "Pub/Sub"]),
    ],
)
def test_each_group_of_rows_is_measured(group: str, rows: list[str]) -> None:
    told = run("--only", group)
    for each in rows:
        assert any(each in line for line in told[1:]), told
    sure = [line for line in told if line.startswith(SURE)]
    assert all(line.endswith("yes") for line in sure), sure


def test_a_group_that_there_is_not_is_refused() -> None:
    command = [sys.executable, "-m", "tests.benchmarks", "--only", "publishing,magic"]
    done = subprocess.run(command, check=False, cwd=ROOT, env=clean_environment(), capture_output=True, text=True)
    assert done.returncode == 2
    assert "magic" in done.stderr
