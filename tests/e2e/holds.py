"""Held outcomes as their parties meet them: who sees what of a hold, and how it is decided."""

import json
from typing import Any

import httpx

from aex_models.contract import FINAL_STATUSES
from tests.e2e.jobs import eventually, until_status
from tests.e2e.parties import Caller, Parties


def waiting_hold(operator: Caller, contract_id: str) -> dict[str, Any]:
    """The contract's hold that waits for a decision, once there is one."""

    def look() -> dict[str, Any] | None:
        found = operator.read("governance", "/v1/holds", status="waiting", limit=200)["items"]
        return next((each for each in found if each["contract_id"] == contract_id), None)

    return eventually(look, what=f"the hold of {contract_id}")


def decide(operator: Caller, hold_id: str, decision: str, reason: str = "looked into it") -> httpx.Response:
    """Post the decision and return the operator's answer."""
    body = {"decision": decision, "reason": reason}
    return operator.post("governance", f"/v1/holds/{hold_id}/decision", body)


def decided(operator: Caller, hold: dict[str, Any], decision: str) -> dict[str, Any]:
    """The hold after a decision that has to be taken."""
    answer = decide(operator, hold["hold_id"], decision)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def held_for(parties: Parties, contract_id: str, rule: str) -> dict[str, Any]:
    """The flag of this rule, for which the contract is held: an operator reads why, its parties do not."""
    seen = until_status(parties.agent, contract_id, "held", *(each.value for each in FINAL_STATUSES))
    assert seen["status"] == "held", seen
    hold = waiting_hold(parties.operator, contract_id)
    assert hold["cause"] == "fraud_suspected"
    flags = {flag["rule"]: flag for flag in hold["flags"]}
    assert rule in flags, flags
    flag: dict[str, Any] = flags[rule]
    assert flag["message"]
    assert flag["severity"] in {"major", "critical"}
    assert flag["evidence"]
    _settles_nothing(parties, contract_id)
    _answers_contain_no_evidence(parties, contract_id, hold["flags"])
    return flag


def _settles_nothing(parties: Parties, contract_id: str) -> None:
    assert parties.finance.get("settlement", f"/v1/settlements/{contract_id}").status_code == 404
    assert parties.operator.get("verification", f"/v1/outcomes/{contract_id}").status_code == 404


def _answers_contain_no_evidence(parties: Parties, contract_id: str, flags: list[dict[str, Any]]) -> None:
    """Check that no answer to a party contains a figure of the evidence, during the hold and after it."""
    for reader in (parties.agent, parties.consumer):
        for seen in answers(reader, contract_id):
            assert '"evidence"' not in seen
            assert not [flag for flag in flags if flag["rule"] in seen or flag["message"] in seen]
        for path in ("/v1/holds", "/v1/review"):
            assert reader.get("governance", path).status_code in {403, 404}


def answers(reader: Caller, contract_id: str) -> list[str]:
    """Return every answer of verification about the contract."""
    paths = (f"/v1/contracts/{contract_id}", f"/v1/contracts/{contract_id}/attempts", f"/v1/outcomes/{contract_id}")
    found = [reader.get("verification", path) for path in paths]
    attempts = found[1].raise_for_status().json()["items"]
    found += [reader.get("verification", f"{paths[1]}/{each['attempt_id']}") for each in attempts]
    return [json.dumps(each.json()) for each in found if each.is_success]
