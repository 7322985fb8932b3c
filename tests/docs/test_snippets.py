"""Files that documents show are read by the code that they are for."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from aex_governance.rules.config import load_rule_configs
from aex_outcomes.catalog import Catalog
from aex_outcomes.config import parse_config
from aex_outcomes.lifecycle.registry import VerifierRegistry
from tests.docs.documents import RUN, Block, blocks_of, text_of
from tests.docs.reader import assert_matches_document, read_along
from tests.docs.tried import CLI, EXTENSIONS, GOVERNANCE, LOADED, OPERATORS, OUTCOMES, VERIFICATION, loaded
from tests.parts.dockerfiles import read_last_stage

CONFIGURATIONS = [loaded(OUTCOMES, *each)[0] for each in LOADED[OUTCOMES]]
OWN_PACKAGE = {
    "readability": """\
class ReadabilityExtractor:
    def __init__(self, longest_word):
        self.longest_word = longest_word

    def supported_metrics(self):
        return ["readability"]

    async def extract(self, task_input, task_output, metadata):
        return {}
""",
    "verifiers": """\
def verify_summary(output: dict) -> dict:
    return output


def verify_total(output):
    return output
""",
    "models": """\
from pydantic import BaseModel


class Answer(BaseModel):
    total: float
""",
}
"""The package that the configurations of aex-outcomes name."""
INSTALLED = """\
from aex_outcomes.catalog import Catalog
from aex_outcomes.config import OutcomeConfig, parse_config
from aex_outcomes.lifecycle.registry import VerifierRegistry

config = parse_config({"extractors": {"politeness": {"class": "politeness"}}})
print("politeness" in Catalog.of(config), *VerifierRegistry.import_enabled(OutcomeConfig()).names)
"""


@pytest.fixture
def own_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "my_package"
    folder.mkdir()
    for name, text in OWN_PACKAGE.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.usefixtures("own_package")
@pytest.mark.parametrize("block", CONFIGURATIONS, ids=lambda block: block.section)
def test_configuration_of_the_readme_is_loaded(block: Block) -> None:
    config = parse_config(yaml.safe_load(block.text))
    assert set(Catalog.of(config).extractors) >= set(config.extractors)
    named = {name for name, each in config.verifiers.items() if each.enabled}
    assert set(VerifierRegistry.import_enabled(config).names) == named


@pytest.mark.parametrize(("document", "heading"), [(GOVERNANCE, "Rules"), (OPERATORS, "Tune the rules")])
def test_file_of_rules_is_loaded(document: Path, heading: str, tmp_path: Path) -> None:
    (block,) = loaded(document, "yaml", heading)
    file = tmp_path / "rules.yaml"
    file.write_text(block.text, encoding="utf-8")
    assert load_rule_configs(file) != load_rule_configs()


def test_entry_points_of_the_extensions_guide_are_found(tmp_path: Path) -> None:
    (declared,) = loaded(EXTENSIONS, "toml", "In a package")
    for block in blocks_of(text_of(EXTENSIONS)):
        if block.kind == "python" and block.file:
            (tmp_path / block.file).write_text(block.text, encoding="utf-8")
    _install(tmp_path, tomllib.loads(declared.text)["project"]["entry-points"])
    environment = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}/usr/bin:/bin", "PYTHONPATH": str(tmp_path)}
    printed = [
        subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        for command in ([sys.executable, "-c", INSTALLED], ["aex", "shop", "--limit", "3"])
    ]
    assert [each.stdout or each.stderr for each in printed] == ["True knows_the_order\n", "at most 3 orders\n"]


def _install(folder: Path, groups: dict[str, dict[str, str]]) -> None:
    """Write what an installer leaves of a package with these entry points."""
    metadata = folder / "shop-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: shop\nVersion: 1.0\n", encoding="utf-8")
    sections = (
        f"[{group}]\n" + "".join(f"{name} = {to}\n" for name, to in each.items()) for group, each in groups.items()
    )
    (metadata / "entry_points.txt").write_text("\n".join(sections), encoding="utf-8")


def test_entry_point_of_the_command_line_is_settlements() -> None:
    (block,) = loaded(CLI, "toml", "Commands of other packages")
    declared = tomllib.loads(block.text)["project"]["entry-points"]["aex.commands"]
    package = CLI.parents[2] / "services/settlement/pyproject.toml"
    offered = tomllib.loads(text_of(package))["project"]["entry-points"]["aex.commands"]
    assert declared.items() <= offered.items()


def test_image_with_verifiers_fits_the_services_image() -> None:
    (block,) = loaded(VERIFICATION, "dockerfile", "Named verifiers")
    lines = [line.split() for line in block.text.splitlines()]
    image = read_last_stage("verification")
    assert lines[0] == ["FROM", "aex-verification"]
    assert lines[-1] == ["USER", image.instructions["USER"]]
    assert [word for words in lines for word in words if word.endswith("/bin/python")] == ["/app/.venv/bin/python"]
    assert image.environment["PATH"].startswith("/app/.venv/bin:")


@pytest.mark.slow
def test_commands_of_the_command_lines_readme_print_the_documented_output(tmp_path: Path) -> None:
    shutil.copytree(CLI.parent / "src/aex_cli/examples", tmp_path / "src/aex_cli/examples")
    activation = Block(RUN, ". .venv/bin/activate\n")  # which the README takes for granted
    blocks = [activation, *blocks_of(text_of(CLI))]
    assert_matches_document(blocks, read_along(blocks, tmp_path, 8081))
