"""Registered verifiers are the same at submission, at verification and offline."""

import json
from pathlib import Path

import pytest

from aex_cli.main import run_command_line
from tests.e2e.jobs import deliver
from tests.e2e.live import Live
from tests.e2e.parties import Parties
from tests.e2e.verifiers.contracts import FINE, GATES, WORDS, contract, outcome

pytestmark = pytest.mark.e2e


OWN = {"verification_id", "contract_id", "verified_at", "governance"}
"""Fields in which two verifications of a candidate may differ."""


@pytest.mark.parametrize(("text", "exit_code"), [("a bad text", 1), ("fine", 1), (FINE, 0)])
def test_aex_verify_says_offline_what_the_suite_says(
    parties: Parties, tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, exit_code: int
) -> None:
    config = written(tmp_path / "config.yaml", f"verifiers: {{lenient: '{GATES}:lenient'}}")
    work = {"success_criteria": {"criteria": [WORDS]}, "verification": {"verifier": "lenient"}}
    files = {"work": json.dumps(work), "output": json.dumps({"text": text})}
    options = [part for name, content in files.items() for part in (f"--{name}", written(tmp_path / name, content))]
    code = run_command_line(["verify", *options, "--config", config, "--json"])
    offline = json.loads(capsys.readouterr().out)
    live = deliver(parties, contract(parties, "lenient", WORDS, feedback="full"), text)["result"]
    assert (code, offline["verdict"]) == (exit_code, live["verdict"])
    assert offline.pop("verifier")["name"] == "lenient"
    assert {name: offline[name] for name in live if name not in OWN} == {
        name: live[name] for name in live if name not in OWN
    }


def written(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_an_installed_package_offers_its_verifier_by_name(parties: Parties) -> None:
    contract_id = contract(parties, "offered")
    assert deliver(parties, contract_id, "a bad text")["verdict"] == "rejected"
    assert deliver(parties, contract_id, FINE)["verdict"] == "passed"


def test_an_unknown_verifier_is_a_400_with_those_that_there_are(parties: Parties) -> None:
    body = {"title": "T", "budget": {"max_cpc": "1"}, "verification": {"verifier": "tune"}}
    answer = parties.consumer.post("work-publisher", "/v1/work", body)
    assert answer.status_code == 400
    [problem] = answer.json()["errors"]
    assert (problem["path"], problem["code"]) == ("/verification/verifier", "unknown_verifier")
    assert problem["message"].endswith("endless, fragile, honest, lenient, offered, tone")


def test_a_verifier_runs_in_a_worker_process(parties: Parties, live: Live) -> None:
    contract_id = contract(parties, "tone")
    assert deliver(parties, contract_id, FINE)["verdict"] == "passed"
    workers = {child.pid for child in live.process("verification").children()}
    assert outcome(parties, contract_id)["final_result"]["process"] in workers
