"""A failing verifier is the operator's fault: it is retried, then held, and no attempt is counted."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.holds import decided, waiting_hold
from tests.e2e.jobs import amounts, deliver, until_settled, until_status
from tests.e2e.live import Live, clean_environment
from tests.e2e.parties import Parties
from tests.e2e.verifiers.contracts import FINE, GATES, WORDS, attempts, contract, outcome, visible
from tests.e2e.verifiers.gates import HOUR_S

pytestmark = pytest.mark.e2e


def test_crashing_verifier_is_retried_and_costs_no_attempt(live: Live, parties: Parties) -> None:
    contract_id = contract(parties, "fragile", deadline_s=HOUR_S)
    attempt_id = deliver(parties, contract_id, FINE, wait_s=0)["attempt_id"]
    until_status(parties.agent, contract_id, "passed")
    lost = [
        line
        for line in live.log("verification")
        if line["event"] == "verification_failed" and line["contract_id"] == contract_id
    ]
    assert {line["error"] for line in lost} == {"VerifierLost (JobCrashed)"}
    assert visible(parties, contract_id)["attempts_used"] == 1
    assert [each["attempt_id"] for each in attempts(parties, contract_id)] == [attempt_id]
    until_settled(parties.finance, contract_id)
    assert outcome(parties, contract_id)["final_result"] == FINE


def test_hanging_verifier_is_killed_retried_and_held(live: Live, parties: Parties) -> None:
    contract_id = contract(parties, "endless", WORDS)
    attempt_id = deliver(parties, contract_id, "never ending text", wait_s=0)["attempt_id"]
    other = contract(parties, "tone")
    assert deliver(parties, other, FINE)["verdict"] == "passed"
    until_status(parties.agent, contract_id, "held")
    lost = [
        line["error"]
        for line in live.log("verification")
        if line["event"] == "verification_failed" and line["contract_id"] == contract_id
    ]
    assert lost == ["VerifierLost (JobTimeout)"] * 4  # once, and three retries
    held = parties.operator.read("verification", f"/v1/contracts/{contract_id}/attempts/{attempt_id}")
    assert (held["status"], held["counted"], held["system_retries"]) == ("held", False, 4)
    assert visible(parties, contract_id)["attempts_used"] == 0
    hold = waiting_hold(parties.operator, contract_id)
    assert hold["cause"] == "system_retries_exhausted"
    decided(parties.operator, hold, "reject")
    until_status(parties.consumer, contract_id, "failed")
    assert amounts(until_settled(parties.finance, contract_id)["cost"]) == ("0.00", "0.00", "0.00", "0.00")


def test_a_verifier_with_a_signature_that_cannot_be_served_stops_the_service_at_its_start(tmp_path: Path) -> None:
    config = tmp_path / "outcome-verification.yaml"
    config.write_text(f"verifiers:\n  mine: {GATES}:unserved\n", encoding="utf-8")
    started = subprocess.run(
        [sys.executable, "-m", "aex_verification"],
        env=clean_environment({"AEX_DATA_DIR": str(tmp_path / ".aex"), "AEX_OUTCOME_CONFIG": str(config)}),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert started.returncode == 2
    [line] = started.stderr.splitlines()
    assert f"AEX_OUTCOME_CONFIG: {config}: verifiers.mine: {GATES}:unserved: " in line
    assert "The verifier's parameter 'database' has no value" in line
