"""Two sides of parties that have nothing to do with each other, with the objects that routes are about."""

from collections.abc import Callable, Mapping
from random import randint
from typing import Any

from aex_models.audiences import Audience
from tests.e2e.jobs import (
    GOOD,
    POOR,
    REFERENCE,
    WORDS,
    award,
    deliver,
    eventually,
    plain_work,
    publish,
    until_settled,
    until_status,
)
from tests.e2e.live import Live
from tests.e2e.parties import Parties, caller, fresh, parties_of

Ids = Mapping[str, str]
_ELEMENT = "<verification_rejected"
"""What feedback begins with."""


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


def _open(parties: Parties, domain: str = "news") -> Ids:
    secret = fresh("kept")
    work = publish(parties, evaluation={"reference": f"{REFERENCE} {secret}"}, domain=domain)
    return {"work_id": str(work["work_id"]), "reference": secret, "domain": domain}


def _claimable(parties: Parties) -> Ids:
    body = plain_work(allow_claims=True, budget={"max_cpc": "0.50", "base_policy": "on_success"})
    answer = parties.consumer.post("work-publisher", "/v1/work", body)
    assert answer.status_code == 201, answer.text
    return {"work_id": str(answer.json()["work_id"])}


def _awarded(parties: Parties, domain: str = "news") -> Ids:
    ids = _open(parties, domain)
    return {**ids, "contract_id": award(parties, ids["work_id"])}


def _judged(parties: Parties) -> Ids:
    return _attempted(parties, POOR)


def _settled(parties: Parties) -> Ids:
    said = fresh("said")
    awarded = _awarded(parties, fresh("news"))
    attempt = deliver(parties, awarded["contract_id"], f"{GOOD} {said}")
    ids = {**awarded, "attempt_id": str(attempt["attempt_id"]), "said": said}
    until_settled(parties.finance, ids["contract_id"])

    def counted() -> bool | None:
        """The sealer comes within a second; the rollups are the last that it writes."""
        found = parties.agent.get("settlement", "/v1/settlements/breakdown", group_by="domain")
        return ids["domain"] in found.text or None

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
    digest = _uploaded_by_both(parties)
    ids = _attempted(parties, GOOD, artifacts=[_named(digest)])
    until_settled(parties.finance, ids["contract_id"])
    return {**ids, "sha256": digest}


def _uploaded(parties: Parties) -> Ids:
    """A file of both parties, and a contract for which nothing was delivered."""
    return {**_awarded(parties), "sha256": _uploaded_by_both(parties), "valid": '"valid":true'}


def _unpaid(parties: Parties) -> Ids:
    """A delivery with a file that failed, and costs its consumer nothing; its feedback tells what no other tells."""
    said, wanted = fresh("said"), randint(10**6, 10**9)
    digest = _uploaded_by_both(parties)
    body = plain_work(
        budget={"max_cpc": "0.50", "base_policy": "on_success"},
        verification={"max_attempts": 1, "feedback": "full"},
        success_criteria={"criteria": [{**WORDS["criteria"][0], "threshold": wanted}]},
    )
    work_id = str(parties.consumer.post("work-publisher", "/v1/work", body).json()["work_id"])
    contract_id = award(parties, work_id)
    attempt = deliver(parties, contract_id, said, artifacts=[_named(digest)], execution_metadata={"note": said})
    until_status(parties.agent, contract_id, "exhausted")
    until_settled(parties.finance, contract_id)
    ids = {"work_id": work_id, "contract_id": contract_id, "attempt_id": str(attempt["attempt_id"]), "sha256": digest}
    seen = {"message": '"message"', "feedback": _ELEMENT, "hash": str(attempt["candidate_hash"])}
    return {**ids, **seen, "said": said, "told": str(wanted)}


def _uploaded_by_both(parties: Parties) -> str:
    content = fresh("mut_score\n-0.4\n").encode()
    uploads = (
        parties.consumer.put("work-publisher", "/v1/artifacts", content),
        parties.agent.put("verification", "/v1/artifacts", content),
    )
    (digest,) = {str(answer.json()["sha256"]) for answer in uploads}
    return digest


def _named(digest: str) -> dict[str, str]:
    return {"name": "scores.csv", "media_type": "text/csv", "sha256": digest}


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
    "uploaded": _uploaded,
    "unpaid": _unpaid,
}
