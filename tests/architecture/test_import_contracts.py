"""The direction of imports: every package is under the contracts, and each contract bites."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONFIG = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
SERVICES = {"aex_work_publisher", "aex_verification", "aex_governance", "aex_settlement"}


def packages_on_disk() -> set[str]:
    return {path.name for folder in ("libs", "services") for path in ROOT.glob(f"{folder}/*/src/*") if path.is_dir()}


def contracts_named(start: str) -> list[dict[str, list[str]]]:
    return [contract for contract in CONFIG["contracts"] if contract["name"].startswith(start)]


def test_every_package_on_disk_is_under_the_contracts() -> None:
    assert set(CONFIG["root_packages"]) == packages_on_disk()


def test_every_package_stands_in_the_layers() -> None:
    [layers] = contracts_named("services stand on")
    named = {name.strip() for layer in layers["layers"] for name in layer.split("|")}
    assert named == packages_on_disk()


def test_every_service_on_disk_is_under_the_service_contracts() -> None:
    on_disk = {path.name for path in ROOT.glob("services/*/src/*") if path.is_dir()}
    assert on_disk == SERVICES
    [inside] = contracts_named("inside a service")
    [rules] = contracts_named("rules are pure")
    assert set(inside["containers"]) == on_disk
    assert {name.split(".")[0] for name in rules["source_modules"]} == on_disk


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


@pytest.mark.slow
@pytest.mark.parametrize("start", BREAKS)
def test_a_deliberate_break_of_the_contract_is_found(start: str, tmp_path: Path) -> None:
    for source in ROOT.glob("*/*/src/*"):
        shutil.copytree(source, tmp_path / source.name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    path, statement = BREAKS[start]
    planted = tmp_path / path
    planted.write_text((planted.read_text() if planted.exists() else "") + f"\n{statement}\n")
    answer = subprocess.run(
        [Path(sys.executable).parent / "lint-imports", "--no-cache"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode != 0, answer.stdout
    [contract] = contracts_named(start)
    assert f"{contract['name']} BROKEN" in " ".join(answer.stdout.split())
