"""Contracts that ended, read as rollouts: over HTTP, with the SDK and from the command line."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from aex_client import AexClient, Endpoints, calls
from aex_models import RolloutResponse
from aex_outcomes import score_rollout
from tests.e2e.jobs import GOOD, POOR, contract, deliver, until_status
from tests.e2e.live import Live, clean_environment
from tests.e2e.parties import Parties

pytestmark = pytest.mark.e2e

URL = "https://inference.example/v1/chat"


def ended(parties: Parties) -> tuple[str, str, str]:
    """Three contracts: passed in the second attempt, exhausted, and without a candidate to this day."""
    passed = contract(parties)
    deliver(parties, passed, POOR)
    deliver(parties, passed, GOOD, execution_metadata={"duration_ms": 5, "inference_url": URL})
    exhausted = contract(parties, verification={"max_attempts": 1})
    deliver(parties, exhausted, POOR)
    for contract_id in (passed, exhausted):
        until_status(parties.agent, contract_id, "passed", "exhausted")
    return passed, exhausted, contract(parties)


def client_of(live: Live, token: str) -> AexClient:
    url = live.url("verification", "")
    return AexClient(Endpoints(url, url, url, url), token)


def test_a_trainer_reads_contracts_as_rollouts(live: Live, parties: Parties) -> None:
    passed, exhausted, _ = ended(parties)
    answer = parties.agent.get("verification", "/v1/outcomes/export", format="rollouts")
    assert answer.headers["content-type"] == "application/x-ndjson"
    lines = [json.loads(line) for line in answer.text.splitlines()]
    first, second = (RolloutResponse.model_validate(line) for line in lines)
    outcome = parties.consumer.read("verification", f"/v1/outcomes/{passed}")
    assert score_rollout(first) == outcome["verification_result"]["weighted_score"] == 1.0
    assert score_rollout(second) == 0.0
    (episode,) = first.trajectories
    assert (episode.env_id, episode.policy_id) == ("news", parties.agent.id)
    assert episode.inference_url == f"{URL}?cid={passed}"
    assert [(step.reward, step.done) for step in episode.steps] == [(None, False), (1.0, True)]
    assert second.trajectories[0].inference_url == f"aex://contracts/{exhausted}?cid={exhausted}"
    with client_of(live, parties.consumer.token) as client:
        assert [each.run_id for each in client.rows(calls.export_rollouts())] == [first.run_id, second.run_id]
        assert [each.contract_id for each in client.rows(calls.export_outcomes())] == [passed, exhausted]


def test_the_command_writes_what_the_suites_operator_may_see(live: Live, parties: Parties, tmp_path: Path) -> None:
    passed, exhausted, _ = ended(parties)
    out = tmp_path / "rollouts.jsonl"
    command = [sys.executable, "-m", "aex_cli", "outcomes", "export", "--format", "rollouts", "--out", str(out)]
    where = ["--url", live.url("verification", ""), "--data-dir", str(live.data_dir), "--agent", parties.agent.id]
    done = subprocess.run(
        [*command, *where], capture_output=True, text=True, check=True, env=clean_environment(), timeout=60
    )
    assert done.stdout == f"2 rollouts written to {out}\n"
    rollouts = [RolloutResponse.model_validate_json(line) for line in out.read_text().splitlines()]
    reported = [each.metrics.details or {} for each in rollouts]
    assert [each["contract_id"] for each in reported] == [passed, exhausted]
