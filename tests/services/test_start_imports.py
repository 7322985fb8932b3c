"""Imports of a starting service, which leave out what its first requests do not need."""

import subprocess
import sys
from pathlib import Path

import pytest

from aex_cli.suite.service_spec import MODULES

LATER = {
    "httpx": "no service is called before there is a contract",
    "jinja2": "pages are rendered for their first reader",
    "jwt": "no token was verified",
    "openai": "no model is called",
    "opentelemetry.sdk": "nothing is traced unless it is set",
    "pydantic_ai": "no model is called",
    "rapidfuzz": "no output was changed yet",
    "yaml": "no operator has a file",
}
_NEEDS = {"governance": {"yaml"}}  # its thresholds
_MADE = """
import sys
from importlib import import_module
from aex_runtime import process
import_module(sys.argv[1] + ".main").create_app()
print(*sys.modules)
"""


@pytest.mark.parametrize("name", MODULES)
def test_start_imports_no_late_module(name: str, tmp_path: Path) -> None:
    made = subprocess.run(
        [sys.executable, "-c", _MADE, MODULES[name]],
        env={"AEX_DATA_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert set(made.stdout.split()) & set(LATER) == _NEEDS.get(name, set())
