"""Guides run from top to bottom: every command works and prints what the guide shows."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.documents import READ_ALONG, ROOT, SUITE, blocks_of, text_of
from tests.docs.reader import assert_matches_document, read_along
from tests.e2e.jobs import contract
from tests.e2e.live import Live, live_suite
from tests.e2e.parties import parties_of

EXTENSIONS = blocks_of(text_of(ROOT / "deploy/guides/extensions.md"))
pytestmark = [pytest.mark.e2e, pytest.mark.slow]


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A suite with the traces of the operations guide and the extensions of the guide to them."""
    folder = tmp_path_factory.mktemp("guides")
    for block in EXTENSIONS:
        if block.file:
            (folder / block.file).parent.mkdir(exist_ok=True)
            (folder / block.file).write_text(block.text, encoding="utf-8")
    config = folder / "configured.yaml"
    absolute = f"domains_folder: {folder / 'domains'}"  # the suite is started from another folder here
    written = (folder / "outcome-verification.yaml").read_text(encoding="utf-8")
    config.write_text(written.replace("domains_folder: domains", absolute), encoding="utf-8")
    environment = {**documented_start(folder), "PYTHONPATH": f"{ROOT}{os.pathsep}{folder}"}
    with live_suite(folder / ".aex", environment=environment, config=config) as started:
        yield started


def documented_start(folder: Path) -> dict[str, str]:
    """Return the variables of the start of the suite in the operations guide, for a suite in this folder."""
    (start,) = [block.text for block in blocks_of(text_of(READ_ALONG[0])) if block.mark == SUITE]
    *variables, command, up = start.split()
    assert (command, up) == ("aex", "up")
    given = dict(each.split("=", 1) for each in variables)
    return {name: value.replace("file:///", f"file:///{folder}/") for name, value in given.items()}


@pytest.mark.parametrize("document", READ_ALONG, ids=lambda document: document.stem)
def test_commands_print_the_documented_output(document: Path, live: Live) -> None:
    blocks = blocks_of(text_of(document))
    printed = read_along(blocks, live.data_dir.parent, live.running.port)
    assert_matches_document(blocks, printed)
    assert live.breakdowns() == []


def test_suite_has_the_extensions_of_the_guide(live: Live) -> None:
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


def test_wrong_output_and_a_failed_command_are_found(tmp_path: Path) -> None:
    blocks = blocks_of("```sh\necho 1\n```\n```text\n2\n```\n")
    with pytest.raises(AssertionError, match="and not"):
        assert_matches_document(blocks, read_along(blocks, tmp_path, 1))
    with pytest.raises(AssertionError, match="no-such-command"):
        read_along(blocks_of("```sh\nno-such-command\n```\n"), tmp_path, 1)
