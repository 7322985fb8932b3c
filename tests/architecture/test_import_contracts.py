"""The direction of imports: every package is under the contracts, and each contract bites."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONFIG = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]


def packages_in(*folders: str) -> set[str]:
    return {path.name for folder in folders for path in ROOT.glob(f"{folder}/*/src/*") if path.is_dir()}


def contracts_named(start: str) -> list[dict[str, list[str]]]:
    return [contract for contract in CONFIG["contracts"] if contract["name"].startswith(start)]


def test_every_package_is_in_the_layers_and_every_service_in_its_contracts() -> None:
    [layers], [inside], [rules] = map(contracts_named, ("services stand on", "inside a service", "rules are pure"))
    layered = {name.strip() for layer in layers["layers"] for name in layer.split("|")}
    assert layered == set(CONFIG["root_packages"]) == packages_in("libs", "services")
    pure = {name.split(".")[0] for name in rules["source_modules"]}
    assert pure == set(inside["containers"]) == packages_in("services")


BREAKS = {
    "services stand on": ("aex_governance/handlers/planted.py", "import aex_settlement.repository"),
    "the command line": ("aex_cli/planted.py", "import aex_settlement.main"),
    "services do not use": ("aex_settlement/handlers/planted.py", "import aex_client"),
    "the client stands": ("aex_client/planted.py", "import aex_runtime.clock"),
    "inside a service": ("aex_settlement/rules/planted.py", "import aex_settlement.repository"),
    "models and outcomes": ("aex_outcomes/planted.py", "import httpx"),
    "ports know no": ("aex_runtime/store/port.py", "import sqlite3"),
    "the Google libraries": ("aex_settlement/planted.py", "import google.cloud.pubsub_v1"),
    "the model libraries": ("aex_verification/planted.py", "import openai"),
    "rules are pure": ("aex_settlement/rules/planted.py", "import aex_runtime.http.auth"),
}


def test_each_contract_has_a_deliberate_break() -> None:
    for contract in CONFIG["contracts"]:
        assert sum(contract["name"].startswith(start) for start in BREAKS) == 1, contract["name"]


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return what the linter prints about a copy of the sources with all breaks, without line breaks."""
    folder = tmp_path_factory.mktemp("broken")
    for source in ROOT.glob("*/*/src/*"):
        shutil.copytree(source, folder / source.name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    for path, statement in BREAKS.values():
        with (folder / path).open("a") as planted:
            planted.write(f"\n{statement}\n")
    command = [str(Path(sys.executable).parent / "lint-imports"), "--no-cache"]
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    answer = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert answer.returncode != 0, answer.stdout
    return " ".join(answer.stdout.split())


@pytest.mark.slow
@pytest.mark.parametrize("start", BREAKS)
def test_a_deliberate_break_of_the_contract_is_found(start: str, findings: str) -> None:
    path, statement = BREAKS[start]
    [contract] = contracts_named(start)
    section = re.search(rf"{contract['name']} [- ]+(.*?)(?:---|$)", findings.partition("Broken contracts")[2])
    assert section is not None
    module, target = path.removesuffix(".py").replace("/", "."), statement.removeprefix("import ").split(".")[0]
    assert f"{module} -> {target}" in section[1]
