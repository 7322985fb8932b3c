"""`aex demo` as a newcomer runs it."""

import sys
from pathlib import Path

import pytest

from tests.e2e.backend import BACKENDS, Backend, requested
from tests.e2e.live import clean_environment
from tests.libs.cli.suites import RunningSuite, free_ports, run_supervised

pytestmark = pytest.mark.e2e

STORY = (
    "publish quote warning award read candidate rejected feedback candidate passed "
    "publish quote warning claim candidate passed "
    "publish quote award candidate rejected feedback candidate passed "
    "publish quote award candidate rejected candidate passed"
)
FEEDBACK = [
    '<verification_rejected code="criteria_not_met" attempt="1" max_attempts="3">',
    "Summary: 4 of 5 criteria not met.",
    "- rougeL: not met",
    "- rouge2: not met",
    "- contains_keywords: not met",
    "- output_length: not met",
    "</verification_rejected>",
]


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Backend:
    return requested(request)


def played(data_dir: Path, backend: Backend) -> RunningSuite:
    """A demo that has come to its end, with exit code 0 and no process left."""
    base = free_ports(4)
    command = [sys.executable, "-m", "aex_cli", "demo", "--data-dir", str(data_dir), "--port-base", str(base)]
    with run_supervised(command, {**clean_environment(), **backend.environment}, base) as demo:
        demo.wait_until_ready()
        assert len(demo.family) >= 4
        assert demo.wait(240) == 0, demo.err
        assert demo.has_ended()
    assert demo.err == []
    return demo


def table(demo: RunningSuite, label: str) -> dict[str, list[str]]:
    """The rows below the step, by their first cell."""
    begin = next(place for place, line in enumerate(demo.out) if line.startswith(f"  {label} "))
    rows = (line.split() for line in demo.out[begin + 2 :])
    return {row[0]: row[1:] for row in rows if row}


def feedback(demo: RunningSuite) -> list[str]:
    begin = next(place for place, line in enumerate(demo.out) if "<verification_rejected" in line)
    return [line.strip() for line in demo.out[begin : begin + len(FEEDBACK)]]


def steps(demo: RunningSuite) -> list[str]:
    return [line.split()[0] for line in demo.out if line.startswith("  ") and line[2] != " "]


def test_demo_prints_its_story(tmp_path: Path, backend: Backend) -> None:
    demo = played(tmp_path / ".aex", backend)
    assert not any("\x1b" in line for line in demo.out)
    assert feedback(demo) == FEEDBACK
    assert " ".join(step for step in steps(demo) if step in set(STORY.split())) == STORY
    assert any("critical mismatch; bioinformatics/DMS ends at 2" in line for line in demo.out)
    settled = {row[0]: row[1:] for name, row in table(demo, "settled").items() if name.startswith("ctr_")}
    assert settled == {
        "wordsmith": ["0.40", "0.30", "0.02", "0.68", "USD"],
        "digit-reader": ["0.60", "0.40", "0.00", "1.00", "USD"],
        "analyst": ["0.40", "0.30", "0.00", "0.70", "USD"],
        "coder": ["0.50", "0.25", "0.00", "0.75", "USD"],
    }
    breakdown = table(demo, "breakdown")
    assert breakdown["wordsmith"][:2] == ["1", "1"]
    assert breakdown["wordsmith"][-2:] == ["0.68", "USD"]
    balance = table(demo, "balance")
    assert balance["consumer:acme"] == ["3.13", "USD"]
    assert balance["sum"] == ["0.00", "USD"]
    assert "sealed" in steps(demo)
    assert any(f"aex up --data-dir {tmp_path / '.aex'}" in line for line in demo.out)
