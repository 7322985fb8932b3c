"""A slice of `make bench-governance`: its times are nobody's test, what it makes and checks is."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.benchmarks.governance.asking import KINDS
from tests.e2e.live import clean_environment
from tests.libs.cli.suites import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]
SIZES = ["--validations", "600", "--small", "200", "--rebuilt", "300", "--rounds", "1"]


def run(place: Path) -> list[str]:
    command = [sys.executable, "-m", "tests.benchmarks.governance_bench", "--keep", str(place), *SIZES]
    done = subprocess.run(command, check=False, cwd=ROOT, env=clean_environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


def test_histories_are_made_asked_and_rebuilt_to_what_they_were(tmp_path: Path) -> None:
    told = run(tmp_path)
    for kind in ("ordinary mix", *KINDS, "a bare commit"):
        assert any(line.startswith(kind) for line in told), kind
    for name in ("small", "large"):
        [flagged] = [line for line in told if line.startswith(f"{name}: ") and " asked; flagged: " in line]
        assert "duplicate_output" in flagged
        assert "near_duplicate_output" in flagged
    assert any(line.startswith("rebuilt: 600 records") and line.endswith("the new ones equal them") for line in told)
    assert any("is used as it is" in line for line in run(tmp_path))
