"""W3C trace context goes with the work: from a request through events into the log lines of the other services."""

from typing import Any
from uuid import uuid4

import pytest

from tests.e2e.jobs import GOOD, award, candidate, eventually, publish, until_settled
from tests.e2e.live import Live
from tests.e2e.parties import Parties

pytestmark = pytest.mark.e2e


def traceparent(trace_id: str) -> dict[str, str]:
    return {"traceparent": f"00-{trace_id}-00f067aa0ba902b7-01"}


def until_traced(live: Live, service: str, contract_id: str, trace_id: str) -> list[dict[str, Any]]:
    """The service's log lines about the contract in this trace, once there are some."""

    def look() -> list[dict[str, Any]] | None:
        lines = [line for line in live.log(service) if line.get("contract_id") == contract_id]
        return [line for line in lines if line.get("trace_id") == trace_id] or None

    return eventually(look, within_s=20, what=f"{service}'s lines in the trace")


def test_the_trace_of_an_award_reaches_verification_and_settlement(live: Live, parties: Parties) -> None:
    trace_id = uuid4().hex
    work_id = publish(parties, verification={"deadline_s": 1})["work_id"]
    contract_id = award(parties, work_id, **traceparent(trace_id))
    until_settled(parties.finance, contract_id)  # the deadline that the award set expires it
    for service in ("work-publisher", "verification", "settlement"):
        assert until_traced(live, service, contract_id, trace_id)


def test_the_trace_of_a_delivery_reaches_governance_and_settlement(live: Live, parties: Parties) -> None:
    trace_id = uuid4().hex
    contract_id = award(parties, publish(parties)["work_id"])
    path = f"/v1/contracts/{contract_id}/outputs?wait_s=30"
    answer = parties.agent.post("verification", path, candidate(GOOD), headers=traceparent(trace_id))
    assert answer.json()["verdict"] == "passed"
    until_settled(parties.finance, contract_id)
    for service in ("verification", "governance", "settlement"):
        assert until_traced(live, service, contract_id, trace_id)
