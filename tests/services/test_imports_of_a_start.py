"""What a service that starts does not import: what nobody has asked it for yet."""

import subprocess
import sys
from pathlib import Path

import pytest

from aex_cli.suite.service_spec import MODULES

LATER = {
    "httpx": "nobody is asked before there is a contract",
    "jinja2": "pages are rendered when somebody reads them",
    "jwt": "no token has come",
    "openai": "no model is asked",
    "opentelemetry.sdk": "nothing is traced unless it is set",
    "pydantic_ai": "no model is asked",
    "rapidfuzz": "no output was changed yet",
    "yaml": "there is no file of an operator's",
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
def test_a_start_imports_nothing_that_can_wait(name: str, tmp_path: Path) -> None:
    made = subprocess.run(
        [sys.executable, "-c", _MADE, MODULES[name]],
        env={"AEX_DATA_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert set(made.stdout.split()) & set(LATER) == _NEEDS.get(name, set())
