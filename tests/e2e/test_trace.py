"""W3C trace context passes from a request through events into the log lines of the other services."""

from typing import Any
from uuid import uuid4

import pytest

from tests.e2e.jobs import GOOD, award, candidate, eventually, publish, until_settled
from tests.e2e.live import Live
from tests.e2e.parties import Parties

pytestmark = pytest.mark.e2e


def traceparent(trace_id: str) -> dict[str, str]:
    return {"traceparent": f"00-{trace_id}-00f067aa0ba902b7-01"}


def until_traced(live: Live, service: str, event: str, contract_id: str, trace_id: str) -> None:
    """Wait until the service has logged this about the contract, and see that it was in this trace."""

    def look() -> list[Any] | None:
        lines = [line for line in live.log(service) if line["event"] == event]
        return [line["trace_id"] for line in lines if line.get("contract_id") == contract_id] or None

    assert eventually(look, what=f"{event} in {service}'s log") == [trace_id]


def test_the_trace_of_an_award_reaches_verification_and_settlement(live: Live, parties: Parties) -> None:
    trace_id = uuid4().hex
    work_id = publish(parties, verification={"deadline_s": 1})["work_id"]
    contract_id = award(parties, work_id, **traceparent(trace_id))
    until_settled(parties.finance, contract_id)  # without a delivery the timer of the award ends it
    until_traced(live, "work-publisher", "work_awarded", contract_id, trace_id)
    until_traced(live, "verification", "contract_opened", contract_id, trace_id)
    until_traced(live, "verification", "contract_expired", contract_id, trace_id)
    until_traced(live, "settlement", "contract_settled", contract_id, trace_id)


def test_the_trace_of_a_delivery_reaches_governance_and_settlement(live: Live, parties: Parties) -> None:
    trace_id = uuid4().hex
    contract_id = award(parties, publish(parties)["work_id"])
    path = f"/v1/contracts/{contract_id}/outputs?wait_s=30"
    answer = parties.agent.post("verification", path, candidate(GOOD), headers=traceparent(trace_id))
    assert answer.json()["verdict"] == "passed"
    until_settled(parties.finance, contract_id)
    for event in ("candidate_judged", "contract_concluded"):
        until_traced(live, "verification", event, contract_id, trace_id)
    until_traced(live, "settlement", "contract_settled", contract_id, trace_id)
    requested = [line for line in live.log("governance") if line.get("route") == "/v1/outcomes/validate"]
    assert [line for line in requested if line["trace_id"] == trace_id]
