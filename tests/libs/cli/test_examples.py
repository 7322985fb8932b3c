"""The example files as the README names them."""

import json
from pathlib import Path

import pytest

from aex_cli.examples import FOLDER
from aex_cli.main import call


def test_the_readme_shows_files_that_are_there() -> None:
    readme = (Path(__file__).parents[3] / "libs/aex-cli/README.md").read_text(encoding="utf-8")
    for name in ("first_draft.json", "revision.json", "metadata.json", "criteria.yaml", "work.json"):
        assert name in readme
        assert (FOLDER / "summary" / name).exists()
    assert json.loads((FOLDER / "summary" / "metadata.json").read_text())["duration_ms"] > 0


def test_the_fitness_work_is_valid_before_its_data_are_uploaded(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["lint", str(FOLDER / "fitness" / "work.json"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(each["code"], each["path"]) for each in found["warnings"]] == [("not_uploaded", "/science/data/0/sha256")]
