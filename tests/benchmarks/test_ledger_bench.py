"""A slice of `make bench-ledger`: its times are nobody's test, what it checks and the memory of an export are."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.live import clean_environment
from tests.libs.cli.suites import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]
SMALL, LARGE = 1_000, 10_000
MEMORY = re.compile(r"(\d+) MB before, (\d+) MB at its peak")
LEEWAY_MB = 64
"""What caches may take while an export runs. That a million rows take no more is told by the whole command."""


def run(place: Path) -> list[str]:
    command = [sys.executable, "-m", "tests.benchmarks.ledger_bench", "--keep", str(place)]
    sizes = ["--settlements", str(LARGE), "--small", str(SMALL)]
    done = subprocess.run(
        [*command, *sizes], check=False, cwd=ROOT, env=clean_environment(), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


def test_books_of_any_size_answer_as_a_recount_does_and_are_exported_in_constant_memory(tmp_path: Path) -> None:
    told = run(tmp_path)
    for name in ("small", "large"):
        assert f"{name}: breakdowns and trial balances, now and past, equal the recount" in told
        assert f"{name}: the export's columns add up to the recount" in told
        assert any(line.startswith(f"{name}: sealer throughput ") for line in told)
    grown = [
        int(peak) - int(before) for before, peak in (found.groups() for found in map(MEMORY.search, told) if found)
    ]
    assert len(grown) == 2
    assert max(grown) <= LEEWAY_MB
