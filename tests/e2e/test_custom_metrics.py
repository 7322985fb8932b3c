"""Custom metric code end to end: tried before an award, run in the sandbox, held on failure."""

import json
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest

from aex_cli.suite.service_spec import MODULES
from tests.e2e.conftest import EMBEDDED_ALONE, StartSuite
from tests.e2e.holds import decided, waiting_hold
from tests.e2e.jobs import (
    GOOD,
    REFERENCE,
    amounts,
    award,
    contract,
    deliver,
    eventually,
    publish,
    until_settled,
    until_status,
)
from tests.e2e.jobs import until_work as until
from tests.e2e.live import Live
from tests.e2e.parties import Parties, parties_of

pytestmark = pytest.mark.e2e

SHARED_WORDS = """
def evaluate(input, output, metadata):
    wanted = set(input["reference"].lower().split())
    found = set(output.get("text", "").lower().split())
    return {"share": len(wanted & found) / len(wanted), "words": len(found)}
"""
ENDLESS = """
def evaluate(input, output, metadata):
    while True:
        pass
"""
FRAGILE = """
def evaluate(input, output, metadata):
    return 1 / len(output["canary_details"])
"""
HANGING = """
def evaluate(input, output, metadata):
    while "hanging" in output.get("text", ""):
        pass
    return 1
"""


def custom(metric: str, threshold: float, **more: Any) -> dict[str, Any]:
    plain = {"metric": metric, "metric_type": "numeric", "comparison": "gte", "threshold": threshold}
    return {**plain, "bonus": "0.20", "penalty": "0.05", **more}


def submission(code: str, *criteria: dict[str, Any], **evaluation: Any) -> dict[str, Any]:
    metrics = [{"name": "mine", "code": code}]
    return {
        "evaluation": {"reference": REFERENCE, "custom_metrics": metrics, **evaluation},
        "success_criteria": {"criteria": list(criteria) or [custom("custom.mine", 0.5)]},
    }


def checked_work(parties: Parties, status: str, code: str, *criteria: dict[str, Any]) -> dict[str, Any]:
    """A work that was published, and came out of its check like this."""
    published = publish(parties, **submission(code, *criteria))
    assert published["status"] in {"checking", status}
    return until(parties.consumer, published["work_id"], status)


def test_custom_code_is_tried_judges_and_is_paid_by(parties: Parties) -> None:
    work = checked_work(
        parties, "open", SHARED_WORDS, custom("custom.mine.share", 0.5), custom("custom.mine.words", 100)
    )
    contract_id = award(parties, work["work_id"])
    poor = deliver(parties, contract_id, "Nothing was decided")
    assert (poor["verdict"], poor["counted"]) == ("rejected", True)
    for each in poor["result"]["criterion_results"]:
        assert "value" not in each, "it is computed from evaluation data"
    other = checked_work(parties, "open", SHARED_WORDS, custom("custom.mine.share", 0.5))
    contract_id = award(parties, other["work_id"])
    assert deliver(parties, contract_id, GOOD)["verdict"] == "passed"
    assert amounts(until_settled(parties.finance, contract_id)["cost"]) == ("0.40", "0.20", "0.00", "0.60")


def test_endless_code_is_checked_and_refused_with_its_reason(parties: Parties) -> None:
    published = publish(parties, **submission(ENDLESS))
    path = f"/v1/work/{published['work_id']}"
    terms = {"agent_id": parties.agent.id, "cpc_rate": "0.40"}

    def is_hidden() -> None:
        answer = parties.consumer.post("work-publisher", f"{path}/award", terms)
        assert (answer.status_code, answer.json()["code"]) == (409, "work_not_open")
        assert parties.agent.get("work-publisher", path).status_code == 404

    assert published["status"] == "checking"
    is_hidden()
    work = until(parties.consumer, published["work_id"], "refused")
    is_hidden()
    problems = {(each["path"], each["code"]) for each in work["problems"]}
    assert problems == {("/evaluation/custom_metrics/0/code", "custom_metric_timeout")}
    assert parties.consumer.post("work-publisher", f"{path}/cancel").status_code == 409


def test_failing_reference_is_reported_to_its_consumer(parties: Parties) -> None:
    work = checked_work(parties, "open", SHARED_WORDS, custom("custom.mine.words", 1_000))
    assert "reference_fails_criteria" in [each["code"] for each in work["warnings"]]
    visible = parties.agent.read("work-publisher", f"/v1/work/{work['work_id']}")
    assert not {"warnings", "problems", "evaluation"} & set(visible)


def held_contract(parties: Parties) -> tuple[str, str]:
    """A contract whose code opened with a warning, and fails on the candidate; its attempt."""
    work = checked_work(parties, "open", FRAGILE)
    assert "custom_metric_exception" in [each["code"] for each in work["warnings"]]
    contract_id = award(parties, work["work_id"])
    attempt_id = deliver(parties, contract_id, GOOD, wait_s=0)["attempt_id"]
    until_status(parties.agent, contract_id, "held")
    return contract_id, attempt_id


def test_code_that_fails_on_a_candidate_is_put_before_an_operator_and_costs_nothing_meanwhile(
    parties: Parties,
) -> None:
    contract_id, attempt_id = held_contract(parties)
    hold = waiting_hold(parties.operator, contract_id)
    assert (hold["cause"], hold["attempt_id"]) == ("custom_metric_failed", attempt_id)
    visible = parties.agent.read("verification", f"/v1/contracts/{contract_id}/attempts/{attempt_id}")
    assert (visible["status"], visible["verdict"], visible["counted"], visible["result"]) == ("held", None, False, None)
    assert parties.finance.get("settlement", f"/v1/settlements/{contract_id}").status_code == 404
    decided(parties.operator, hold, "release")
    until_status(parties.consumer, contract_id, "passed")
    assert amounts(until_settled(parties.finance, contract_id)["cost"]) == ("0.40", "0.00", "0.00", "0.40")
    outcome = parties.agent.read("verification", f"/v1/outcomes/{contract_id}")
    [result] = outcome["verification_result"]["criterion_results"]
    assert result["error"]["code"] == "custom_metric_failed"
    assert "message" not in result["error"]


def test_code_and_evaluation_data_reach_no_agent_and_no_log(live: Live, parties: Parties) -> None:
    canary = f"canary{uuid4().hex}"
    code = f"def evaluate(input, output, metadata):\n    return len(output['{canary}'] + input['reference'])\n"
    published = publish(parties, **submission(code, reference=f"{canary} secret"))
    work = until(parties.consumer, published["work_id"], "open")
    assert work["warnings"]
    assert canary not in json.dumps(work["warnings"])
    contract_id = award(parties, work["work_id"])
    attempt = deliver(parties, contract_id, GOOD, wait_s=0)
    until_status(parties.agent, contract_id, "held")
    decided(parties.operator, waiting_hold(parties.operator, contract_id), "release")
    until_settled(parties.finance, contract_id)
    seen = [
        parties.agent.read("work-publisher", f"/v1/work/{work['work_id']}"),
        parties.agent.read("verification", f"/v1/contracts/{contract_id}"),
        parties.agent.read("verification", f"/v1/contracts/{contract_id}/attempts/{attempt['attempt_id']}"),
        parties.agent.read("verification", f"/v1/outcomes/{contract_id}"),
        parties.operator.read("verification", f"/v1/outcomes/{contract_id}"),
        parties.finance.read("settlement", f"/v1/settlements/{contract_id}"),
        *(live.log(service) for service in MODULES),
    ]
    for each in seen:
        assert canary not in json.dumps(each)


@EMBEDDED_ALONE
def test_hanging_code_delays_no_other_work(live: Live, parties: Parties) -> None:
    slow = [award(parties, checked_work(parties, "open", HANGING)["work_id"]) for _ in range(3)]
    for contract_id in slow:
        deliver(parties, contract_id, "a hanging candidate", wait_s=0)
    others = parties_of(live)
    assert deliver(others, contract(others), GOOD)["verdict"] == "passed"
    until_status(parties.agent, slow[0], "held")


def test_without_a_sandbox_works_wait_and_the_rest_continues(start_suite: StartSuite) -> None:
    live = start_suite(environment={"AEX_SANDBOX_WORKERS": "0"})
    parties = parties_of(live)
    work_id = publish(parties, **submission(SHARED_WORDS))["work_id"]
    response = live.http.get(live.url("verification", "/readyz"))
    assert (response.status_code, response.json()) == (200, {"status": "ready", "missing": {"sandbox": "off"}})
    assert live.metric("verification", "aex_sandbox_up") == 0
    assert deliver(parties, contract(parties), GOOD)["verdict"] == "passed"
    eventually(lambda: waiting(live, work_id) or None, what="a check that waits")
    assert parties.consumer.read("work-publisher", f"/v1/work/{work_id}")["status"] == "checking"
    live.running.process.terminate()
    assert live.running.wait() == 0
    live = start_suite()
    consumer = replace(parties.consumer, live=live)
    assert until(consumer, work_id, "open")["work_id"] == work_id
    assert live.metric("verification", "aex_sandbox_up") == 1
    assert live.metric("verification", "aex_dead_letters") == 0


def waiting(live: Live, work_id: str) -> list[dict[str, Any]]:
    """Return how often the log reports that the work could not be tried yet."""
    lines = live.log("verification")
    return [line for line in lines if line["event"] == "work_check_delayed" and line["work_id"] == work_id]
