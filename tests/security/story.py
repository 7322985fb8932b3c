"""The canary's contracts: every feedback level, every end, and broken input."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from aex_models.audiences import Audience
from aex_models.work import FeedbackLevel
from tests.e2e.holds import decided, waiting_hold
from tests.e2e.jobs import GOOD, POOR, award, until_settled, until_status, work_body
from tests.e2e.live import Live
from tests.e2e.parties import Caller, Parties, caller, fresh, parties_of
from tests.e2e.science import upload
from tests.security.markers import CLAIMED, CRITERIA, DATA, EVALUATION, PREDICTIONS, SCIENCE

DECENT: dict[str, Any] = {
    "output": {"text": GOOD, "predictions": PREDICTIONS, "counts": [7]},
    "claimed_values": CLAIMED,
}
DEFICIENT: dict[str, Any] = {
    "output": {"text": f"{POOR} on the budget of the town", "predictions": PREDICTIONS[:2]},
    "claimed_values": CLAIMED,
}
SUSPECT: dict[str, Any] = {**DECENT, "claimed_metrics": {"word_count": 14}}
"""Output that claims words it does not have: severity major, held."""
_DEADLINE_S = 20
"""Deadline of the contract that expires: on a busy machine three deliveries come before it."""


@dataclass(frozen=True, slots=True)
class Played:
    """A finished contract of the story."""

    level: FeedbackLevel
    parties: Parties
    ids: dict[str, str]
    last: bool
    """True for the last contract of its parties, whose lists are then complete."""


def play(live: Live) -> list[Played]:
    played = []
    for level in FeedbackLevel:
        parties = parties_of(live)
        contracts = list(_contracts(parties, level))
        played += [Played(level, parties, ids, ids is contracts[-1]) for ids in contracts]
    return played


def _contracts(parties: Parties, level: FeedbackLevel) -> Iterator[dict[str, str]]:
    yield _passed(parties, level)
    yield _ended(parties, _contract(parties, level, max_attempts=1), "exhausted", DEFICIENT)
    yield _held(parties, _contract(parties, level), "release", "passed")
    if level is not FeedbackLevel.CRITERIA:  # the other ends tell agents nothing that depends on the level
        return
    expiring = _contract(parties, level, deadline_s=_DEADLINE_S)
    _deliver(parties, expiring, DEFICIENT)
    yield _held(parties, _contract(parties, level), "reject", "failed")
    yield _finalised(parties, level)
    ids = _contract(parties, level)
    assert parties.consumer.post("verification", f"/v1/contracts/{ids['contract_id']}/cancel").is_success
    yield ids
    yield _until_ended(parties, expiring, "expired")


def _contract(parties: Parties, level: FeedbackLevel, **policy: Any) -> dict[str, str]:
    judged = {"evaluation": EVALUATION, "success_criteria": CRITERIA, "science": SCIENCE}
    sha256 = upload(parties.consumer, "work-publisher", DATA)
    own = {"science": {**SCIENCE, "data": [{"name": "votes.csv", "sha256": sha256}]}}
    body = work_body(**judged | own, verification={"feedback": level.value, **policy})
    key = fresh("key")
    answers = [parties.consumer.post("work-publisher", "/v1/work", body, key=key) for _ in range(2)]
    assert [each.status_code for each in answers] == [201, 201], answers[0].text
    assert answers[1].headers["Idempotent-Replayed"] == "true"
    assert parties.consumer.post("work-publisher", "/v1/work/validate", body).json()["valid"] is True
    assert parties.consumer.post("verification", "/v1/verify", {**judged, **DEFICIENT}).json()["verdict"] == "rejected"
    work_id = str(answers[0].json()["work_id"])
    return {"work_id": work_id, "contract_id": award(parties, work_id), "sha256": sha256}


def _deliver(parties: Parties, ids: dict[str, str], candidate: dict[str, Any], wait_s: int = 30) -> None:
    """Delivered, delivered again under the same key, and once more under none: three answers, one attempt."""
    path, key = f"/v1/contracts/{ids['contract_id']}/outputs?wait_s={wait_s}", fresh("key")
    for each in (key, key, None):
        answer = parties.agent.post("verification", path, candidate, key=each)
        assert answer.is_success, answer.text
        ids["attempt_id"] = answer.json()["attempt_id"]


def _passed(parties: Parties, level: FeedbackLevel) -> dict[str, str]:
    ids = _contract(parties, level)
    _deliver(parties, ids, DEFICIENT)
    until_status(parties.agent, ids["contract_id"], "awaiting_revision")
    notes = {"name": "notes.txt", "media_type": "text/plain", "sha256": upload(parties.agent, "verification", b"Mine")}
    return _ended(parties, ids, "passed", {**DECENT, "artifacts": [notes]})


def _ended(parties: Parties, ids: dict[str, str], status: str, candidate: dict[str, Any]) -> dict[str, str]:
    _deliver(parties, ids, candidate)
    return _until_ended(parties, ids, status)


def _until_ended(parties: Parties, ids: dict[str, str], status: str) -> dict[str, str]:
    until_status(parties.agent, ids["contract_id"], status)
    until_settled(parties.finance, ids["contract_id"])
    return ids


def _held(parties: Parties, ids: dict[str, str], decision: str, end: str) -> dict[str, str]:
    _deliver(parties, ids, SUSPECT, wait_s=0)
    until_status(parties.agent, ids["contract_id"], "held")
    contract = f"/v1/contracts/{ids['contract_id']}"  # read while it is open
    for path in (contract, f"{contract}/attempts", f"{contract}/attempts/{ids['attempt_id']}"):
        assert parties.agent.get("verification", path).is_success
    hold = waiting_hold(parties.operator, ids["contract_id"])
    ids["hold_id"] = str(hold["hold_id"])
    decided(parties.operator, hold, decision)
    return _until_ended(parties, ids, end)


def _finalised(parties: Parties, level: FeedbackLevel) -> dict[str, str]:
    ids = _contract(parties, level)
    _deliver(parties, ids, DEFICIENT)
    until_status(parties.agent, ids["contract_id"], "awaiting_revision")
    assert parties.agent.post("verification", f"/v1/contracts/{ids['contract_id']}/finalize").is_success
    until_settled(parties.finance, ids["contract_id"])
    body = {"reason": "booked twice", "replacement": {"base": "0.01", "bonus": "0", "penalty": "0"}}
    path = f"/v1/settlements/{ids['contract_id']}/reversals"
    answer = parties.finance.post("settlement", path, body, key=fresh("key"))
    assert answer.is_success, answer.text
    return ids


def readers_of(played: Played) -> list[Caller]:
    """Return one reader of each role of the contract; for the last one two foreign parties as well."""
    live = played.parties.agent.live
    strangers = [caller(live, role, fresh("stranger")) for role in (Audience.AGENT, Audience.CONSUMER) if played.last]
    service = caller(live, Audience.SERVICE, fresh("service:probe"))
    parties = played.parties
    return [parties.consumer, parties.agent, parties.finance, parties.operator, service, *strangers]
