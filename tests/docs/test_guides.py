"""Guides run from top to bottom: every command works and prints what the guide shows."""

import os
import shutil
from pathlib import Path

import pytest

from tests.docs.documents import GUIDES, ROOT, blocks_of, text_of
from tests.docs.reader import assert_matches_document, documented_and_printed, read_along
from tests.e2e.conftest import StartSuite
from tests.e2e.jobs import contract
from tests.e2e.live import Live
from tests.e2e.parties import parties_of
from tests.e2e.shared_suite import shared_suite
from tests.shared import Shared

OPERATIONS = ROOT / "deploy/README.md"
READ_ALONG = [*GUIDES, OPERATIONS]
pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture
def beside_a_suite(tmp_path: Path, start_suite: StartSuite) -> Live:
    spans = {"AEX_TRACES_URL": f"file:///{tmp_path / 'traces.jsonl'}"}  # as the operations guide starts it
    return start_suite(environment=spans)


@pytest.mark.parametrize("document", READ_ALONG, ids=lambda document: document.stem)
def test_commands_print_the_documented_output(document: Path, beside_a_suite: Live, tmp_path: Path) -> None:
    blocks = blocks_of(text_of(document))
    printed = read_along(blocks, tmp_path, beside_a_suite.running.port)
    assert_matches_document(blocks, printed)
    assert beside_a_suite.breakdowns() == []


def test_the_suite_takes_what_the_guide_to_extending_it_configures(tmp_path: Path, start_suite: StartSuite) -> None:
    for block in blocks_of(text_of(ROOT / "deploy/guides/extensions.md")):
        if block.file:
            (tmp_path / block.file).parent.mkdir(exist_ok=True)
            (tmp_path / block.file).write_text(block.text, encoding="utf-8")
    config = tmp_path / "outcome-verification.yaml"
    folder = f"domains_folder: {tmp_path / 'domains'}"  # the suite is started from another folder here
    config.write_text(config.read_text(encoding="utf-8").replace("domains_folder: domains", folder), encoding="utf-8")
    importable = {"PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}"}
    live = start_suite(checked=False, environment=importable, config=config)
    parties = parties_of(live)
    polite = {"metric": "politeness", "metric_type": "percentage", "comparison": "gte", "threshold": 0.5}
    contract_id = contract(
        parties,
        domain="chemistry/absorption",
        evaluation=None,
        success_criteria={"criteria": [polite]},
        verification={"verifier": "knows_the_order"},
    )
    outputs = ({"text": "Wait.", "order": 194}, {"text": "Please wait.", "order": 195}, {"text": "Please wait."})
    path = f"/v1/contracts/{contract_id}/outputs?wait_s=30"
    posted = [parties.agent.post("verification", path, {"output": output}).json() for output in outputs]
    assert [(each["status"], each["verdict"]) for each in posted] == [
        ("judged", "rejected"),
        ("judged", "rejected"),
        ("invalid", None),
    ]
    last = parties.agent.post("verification", path, {"output": {"text": "Please wait.", "order": 194}}).json()
    assert last["verdict"] == "passed"
    assert parties.consumer.read("verification", "/v1/domains/chemistry/absorption")["name"] == "chemistry/absorption"


def test_a_guide_that_shows_something_else_or_fails_is_found(shared: Shared, tmp_path: Path) -> None:
    guide = "```sh\n. .venv/bin/activate\naex token --role {} --sub bot | wc -l\n```\n```text\n{}\n```\n"
    with shared_suite(shared) as live:
        (tmp_path / ".aex").symlink_to(live.data_dir)
        for documented, right in (("1", True), ("2", False)):
            blocks = blocks_of(guide.format("agent", documented))
            ((_, _, found),) = documented_and_printed(blocks, read_along(blocks, tmp_path, live.running.port))
            assert (found.strip() == documented) is right
        with pytest.raises(AssertionError, match="unknown"):
            read_along(blocks_of(guide.format("unknown", "1").replace(" | wc -l", "")), tmp_path, live.running.port)


@pytest.mark.parametrize("tool", ["bash", "curl"])
def test_what_readers_need_is_on_this_machine(tool: str) -> None:
    assert shutil.which(tool)
