"""Targets of bad input: an open work, a contract that waits for its agent, and a settled one."""

from dataclasses import dataclass
from typing import Any

import httpx

from tests.e2e.jobs import GOOD, contract, deliver, eventually, publish, until_settled, until_work
from tests.e2e.live import Live
from tests.e2e.parties import Parties, parties_of
from tests.e2e.stores import until_dealt_with


@dataclass(frozen=True, slots=True)
class BadInputTargets:
    """Objects of one pair of parties, all of them at rest."""

    live: Live
    parties: Parties
    work_id: str
    waiting: str
    settled: str


def bad_input_targets_on(live: Live) -> BadInputTargets:
    """Make them, and let everything that follows from them happen."""
    parties = parties_of(live)
    settled = contract(parties)
    deliver(parties, settled, GOOD)
    until_work(parties.consumer, until_settled(parties.finance, settled)["work_id"], "completed")
    waiting = contract(parties)
    parties.agent.read("verification", f"/v1/contracts/{waiting}")
    work_id = publish(parties)["work_id"]
    eventually(lambda: _none_under_way(parties), within_s=90, what="the end of what other tests began")
    for topic in ("work.submitted", "contract.awarded", "outcome.held", "outcome.verified"):
        until_dealt_with(live, topic)
    return BadInputTargets(live, parties, work_id, waiting, settled)


def _none_under_way(parties: Parties) -> bool | None:
    """Check that no contract is under verification: a retried one may be held much later."""
    return None if parties.operator.read("verification", "/v1/contracts", status="verifying")["items"] else True


def refused(answer: httpx.Response, status: int, code: str | None = None) -> dict[str, Any]:
    """The problem document of a refusal: a stable code, an id for the request, and no internals."""
    assert answer.status_code == status, f"{answer.status_code} {answer.text[:500]}"
    assert answer.headers["content-type"] == "application/problem+json"
    problem: dict[str, Any] = answer.json()
    assert problem["status"] == status
    assert problem["code"].replace("_", "").isalnum()
    assert problem["code"] == problem["code"].lower()
    assert problem["request_id"] == answer.headers["x-request-id"] != ""
    assert problem["detail"]
    assert "Traceback" not in answer.text
    assert code is None or problem["code"] == code, problem
    return problem
