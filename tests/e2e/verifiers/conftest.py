"""A suite on each backend whose operator has registered verifiers."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.backend import BACKENDS, requested
from tests.e2e.live import Live, live_suite
from tests.e2e.verifiers.contracts import GATES
from tests.libs.cli.suites import ROOT

CONFIG = f"""
verifiers:
  tone: {GATES}:tone
  honest: {GATES}:honest
  fragile: {GATES}:fragile
  lenient: {GATES}:lenient
  endless: {{path: "{GATES}:endless", timeout_ms: 500}}
"""


@pytest.fixture(scope="package", params=BACKENDS)
def live(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A suite with these verifiers, and one more that an installed package offers."""
    folder = tmp_path_factory.mktemp("verifiers")
    config = folder / "outcome-verification.yaml"
    config.write_text(CONFIG, encoding="utf-8")
    environment = {
        "AEX_MAX_SYSTEM_RETRIES": "3",
        "AEX_SANDBOX_WORKERS": "0",
        "PYTHONPATH": f"{ROOT}:{installed(folder / 'packages')}",
    }
    with live_suite(folder / ".aex", requested(request), environment=environment, config=config) as started:
        yield started
        assert started.breakdowns() == []


def installed(folder: Path) -> Path:
    """A folder with a package that offers a verifier under the name `offered`."""
    info = folder / "tones-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tones\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[aex.verifiers]\noffered = {GATES}:tone\n")
    return folder
