"""Two sides of parties that have nothing to do with each other, with the objects that routes are about."""

from collections.abc import Callable, Mapping
from typing import Any

from aex_models.audiences import Audience
from tests.e2e.jobs import GOOD, POOR, award, deliver, eventually, plain_work, publish, until_settled
from tests.e2e.live import Live
from tests.e2e.parties import Parties, caller, fresh, parties_of

Ids = Mapping[str, str]


class Side:
    """A consumer, an agent and staff, and their objects: made when first needed, kept until an answer used them up."""

    def __init__(self, live: Live) -> None:
        self.parties: Parties = parties_of(live)
        service = caller(live, Audience.SERVICE, fresh("service:probe"))
        everybody = (self.parties.consumer, self.parties.agent, self.parties.finance, self.parties.operator, service)
        self.callers = dict(zip(Audience, everybody, strict=True))
        self._kept: dict[str, Ids] = {}

    def ids(self, kind: str) -> Ids:
        """The ids of an object of this kind."""
        if kind not in self._kept:
            self._kept[kind] = MAKERS[kind](self.parties)
        return self._kept[kind]

    def use_up(self, kind: str) -> None:
        """Its state has changed: the next caller gets another."""
        self._kept.pop(kind, None)


def namesake(live: Live, side: Side, role: Audience) -> str:
    """A token of someone who bears the name of the side's other party."""
    name = side.parties.agent.id if role is Audience.CONSUMER else side.parties.consumer.id
    return caller(live, role, name).token


def _open(parties: Parties) -> Ids:
    return {"work_id": str(publish(parties)["work_id"])}


def _claimable(parties: Parties) -> Ids:
    body = plain_work(allow_claims=True, budget={"max_cpc": "0.50", "base_policy": "on_success"})
    answer = parties.consumer.post("work-publisher", "/v1/work", body)
    assert answer.status_code == 201, answer.text
    return {"work_id": str(answer.json()["work_id"])}


def _awarded(parties: Parties) -> Ids:
    work_id = _open(parties)["work_id"]
    return {"work_id": work_id, "contract_id": award(parties, work_id)}


def _judged(parties: Parties) -> Ids:
    return _attempted(parties, POOR)


def _settled(parties: Parties) -> Ids:
    ids = _attempted(parties, GOOD)
    until_settled(parties.finance, ids["contract_id"])

    def counted() -> bool | None:
        """The sealer comes within a second; the rollups are the last that it writes."""
        found = parties.agent.read("settlement", "/v1/settlements/breakdown", group_by="agent")
        return bool(found["totals"]) or None

    eventually(counted, what="the contract in the rollups")
    return ids


def _held(parties: Parties) -> Ids:
    """A claim far from what was measured is held for an operator."""
    ids = _attempted(parties, GOOD, wait_s=0, claimed_metrics={"word_count": 14})

    def look() -> str | None:
        found = parties.operator.read("governance", "/v1/holds", status="waiting", limit=200)["items"]
        return next((str(each["hold_id"]) for each in found if each["contract_id"] == ids["contract_id"]), None)

    return {**ids, "hold_id": eventually(look, what="a hold")}


def _filed(parties: Parties) -> Ids:
    """A file that the consumer gave, and that the agent delivered, each to its service; the contract is settled."""
    content = fresh("mut_score\n-0.4\n").encode()
    uploads = (
        parties.consumer.put("work-publisher", "/v1/artifacts", content),
        parties.agent.put("verification", "/v1/artifacts", content),
    )
    (digest,) = {str(answer.json()["sha256"]) for answer in uploads}
    artifact = {"name": "scores.csv", "media_type": "text/csv", "sha256": digest}
    ids = _attempted(parties, GOOD, artifacts=[artifact])
    until_settled(parties.finance, ids["contract_id"])
    return {**ids, "sha256": digest}


def _attempted(parties: Parties, text: str, **further: Any) -> Ids:
    ids = _awarded(parties)
    return {**ids, "attempt_id": str(deliver(parties, ids["contract_id"], text, **further)["attempt_id"])}


MAKERS: Mapping[str, Callable[[Parties], Ids]] = {
    "nothing": lambda _: {},
    "open": _open,
    "claimable": _claimable,
    "awarded": _awarded,
    "judged": _judged,
    "settled": _settled,
    "held": _held,
    "filed": _filed,
}
