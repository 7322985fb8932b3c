import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

NEEDY = "tests/emulators/test_emulators.py::test_environment_names_them_as_google_does"


def run_without_java(tmp_path: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """A test that needs the emulators, on a machine that cannot have them."""
    environment = {name: value for name, value in os.environ.items() if name not in {"CI", "AEX_REQUIRE_EMULATORS"}}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", NEEDY]
    return subprocess.run(
        command,
        env={**environment, "PATH": str(tmp_path), **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_without_emulators_a_test_is_skipped_and_says_why(tmp_path: Path) -> None:
    done = run_without_java(tmp_path)
    assert done.returncode == 0, done.stdout
    assert "the emulators need Java" in done.stdout
    assert "1 skipped" in done.stdout


@pytest.mark.parametrize("variable", ["CI", "AEX_REQUIRE_EMULATORS"])
def test_without_emulators_a_test_fails_where_they_are_required(tmp_path: Path, variable: str) -> None:
    done = run_without_java(tmp_path, **{variable: "1"})
    assert done.returncode == 1, done.stdout
    assert "emulators are required here: the emulators need Java" in done.stdout
