"""Every guide, done by somebody who reads it from the top: all of its commands work, and print what it shows."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.documents import GUIDES, ROOT, blocks_of, text_of
from tests.docs.reader import assert_as_shown, read_along, shown_and_printed
from tests.e2e.jobs import contract
from tests.e2e.live import Live, live_suite
from tests.e2e.parties import parties_of

OPERATIONS = ROOT / "deploy/README.md"
READ_ALONG = [*GUIDES, OPERATIONS]
pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture
def beside_a_suite(tmp_path: Path) -> Iterator[Live]:
    spans = {"AEX_TRACES_URL": f"file:///{tmp_path / 'traces.jsonl'}"}  # as the operations guide starts it
    with live_suite(tmp_path / ".aex", environment=spans) as live:
        yield live


@pytest.mark.parametrize("document", READ_ALONG, ids=lambda document: document.stem)
def test_a_reader_gets_what_is_shown(document: Path, beside_a_suite: Live, tmp_path: Path) -> None:
    blocks = blocks_of(text_of(document))
    printed = read_along(blocks, tmp_path, beside_a_suite.running.port)
    assert_as_shown(blocks, printed)
    assert beside_a_suite.breakdowns() == []


def test_the_suite_takes_what_the_guide_to_extending_it_configures(tmp_path: Path) -> None:
    for block in blocks_of(text_of(ROOT / "deploy/guides/extensions.md")):
        if block.file:
            (tmp_path / block.file).parent.mkdir(exist_ok=True)
            (tmp_path / block.file).write_text(block.text, encoding="utf-8")
    config = tmp_path / "outcome-verification.yaml"
    folder = f"domains_folder: {tmp_path / 'domains'}"  # the suite is started from another folder here
    config.write_text(config.read_text(encoding="utf-8").replace("domains_folder: domains", folder), encoding="utf-8")
    importable = {"PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}"}
    with live_suite(tmp_path / ".aex", environment=importable, config=config) as live:
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
        assert (
            parties.consumer.read("verification", "/v1/domains/chemistry/absorption")["name"] == "chemistry/absorption"
        )


def test_a_guide_that_shows_something_else_is_found(beside_a_suite: Live, tmp_path: Path) -> None:
    guide = "```sh\n. .venv/bin/activate\naex token --role agent --sub bot | wc -l\n```\n```text\n{}\n```\n"
    for shown, right in (("1", True), ("2", False)):
        blocks = blocks_of(guide.format(shown))
        ((_, _, found),) = shown_and_printed(blocks, read_along(blocks, tmp_path, beside_a_suite.running.port))
        assert (found.strip() == shown) is right


def test_a_command_that_fails_is_found(beside_a_suite: Live, tmp_path: Path) -> None:
    blocks = blocks_of("```sh\n. .venv/bin/activate\naex token --role nobody --sub bot\n```\n")
    with pytest.raises(AssertionError, match="nobody"):
        read_along(blocks, tmp_path, beside_a_suite.running.port)


@pytest.mark.parametrize("tool", ["bash", "curl"])
def test_what_readers_need_is_on_this_machine(tool: str) -> None:
    assert shutil.which(tool)
