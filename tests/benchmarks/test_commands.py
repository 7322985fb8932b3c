"""Small runs of the benchmarks that also check results; `make nightly` runs all of them in full."""

import re
import subprocess
import sys

import pytest

from tests.benchmarks.governance.asking import TEXTS
from tests.e2e.live import clean_environment
from tests.libs.cli.suites import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.e2e, pytest.mark.timeout(900)]
CACHE_MB = 64
"""The growth of memory during an export that caches explain."""


def run(module: str, *arguments: str) -> list[str]:
    command = [sys.executable, "-m", f"tests.benchmarks.{module}", *arguments]
    done = subprocess.run(command, check=False, cwd=ROOT, env=clean_environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


def test_ledger_equals_a_recount_and_is_exported_in_constant_memory() -> None:
    lines = run("ledger", "--settlements", "5000", "--small", "400")
    for name in ("small-400", "large-5000"):
        assert f"{name}: breakdowns and trial balances, now and past, equal the recount" in lines
    memory = re.findall(r"(\d+) MB before, (\d+) MB at its peak", "\n".join(lines))
    assert len(memory) == 2
    assert all(int(peak) - int(before) <= CACHE_MB for before, peak in memory)


def test_histories_are_validated_against_and_rebuilt_equal() -> None:
    lines = run("governance", "--validations", "600", "--small", "200", "--rounds", "1")
    for name in ("ordinary mix", *TEXTS, "a bare commit"):
        assert any(line.startswith(name) for line in lines), name
    for name in ("small-200", "large-600"):
        assert any(line.startswith(name) and "near_duplicate_output" in line for line in lines)
    assert "small-200: the rebuilt projections are equal" in lines


def test_load_on_two_replicas_is_settled_once() -> None:
    lines = run("load", "--contracts", "20", "--pairs", "4", "--replicas", "2")
    assert lines[-1] == "all accepted contracts are settled once"
    rows = [line.split() for line in lines if line.startswith("embedded ")]
    assert [row[-5:-1] for row in rows] == [["20", "20", "0", "0"], ["10", "10", "0", "0"]]
