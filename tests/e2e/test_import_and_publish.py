"""Works imported from an eval of another tool, published to the running suite and decided there."""

import json
from pathlib import Path
from typing import Any

import pytest

from aex_cli.main import run_command_line
from tests.e2e.jobs import award, until_work
from tests.e2e.parties import Parties

pytestmark = pytest.mark.e2e
CONFIG = """
prompts: ["Translate to French: {{text}}"]
tests:
  - vars: {text: Good day, expected: Bonjour}
    assert:
      - {type: icontains, value: "{{expected}}"}
      - {type: word-count, value: {max: 3}}
  - vars: {text: Thank you, expected: Merci}
    threshold: 0.5
    assert:
      - {type: equals, value: "{{expected}}"}
      - {type: regex, value: "^[A-Z].*[!.]$"}
"""
DELIVERED = [("bonjour, Madame !", "passed"), ("Merci beaucoup", "rejected")]


def decide(parties: Parties, work_id: str, text: str) -> Any:
    until_work(parties.consumer, work_id, "open")  # its custom metrics are tried first
    contract_id = award(parties, work_id)
    candidate = {"output": {"text": text}}
    answer = parties.agent.post("verification", f"/v1/contracts/{contract_id}/outputs?wait_s=30", candidate)
    assert answer.is_success, answer.text
    return answer.json()["verdict"]


def test_imported_works_are_published_once_and_decided(
    parties: Parties, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "promptfooconfig.yaml").write_text(CONFIG)
    imported = ["import", "promptfoo", str(tmp_path / "promptfooconfig.yaml"), "--out", str(tmp_path), "--max-cpc", "1"]
    assert run_command_line(imported) == 0
    works = tmp_path / "works.jsonl"
    works.write_text(works.read_text() + json.dumps({"title": "no budget"}) + "\n")
    url = parties.consumer.live.url("work-publisher", "")
    publish = ["work", "publish", str(works), "--url", url, "--token", parties.consumer.token]
    capsys.readouterr()
    assert run_command_line(publish) == 1
    first = capsys.readouterr()
    assert "line 3: /budget:" in first.err
    assert run_command_line(publish) == 1
    assert capsys.readouterr().out == first.out
    ids = first.out.split()
    assert [decide(parties, each, text) for each, (text, _) in zip(ids, DELIVERED, strict=True)] == [
        verdict for _, verdict in DELIVERED
    ]
    seen = parties.agent.read("work-publisher", f"/v1/work/{ids[1]}")
    assert "Merci" not in json.dumps(seen)
    assert seen["input"] == {"prompt": "Translate to French: Thank you"}
