"""Two unrelated sides of parties, with the objects of the routes."""

from collections.abc import Callable, Mapping
from random import randint
from typing import Any

from aex_models.audiences import Audience
from tests.e2e.holds import waiting_hold
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
from tests.e2e.science import upload

Ids = Mapping[str, str]
_ELEMENT = "<verification_rejected"
"""First characters of feedback."""


class Side:
    """A consumer, an agent and operators, with objects made on demand until a request uses them up."""

    def __init__(self, live: Live) -> None:
        self.parties: Parties = parties_of(live)
        service = caller(live, Audience.SERVICE, fresh("service:probe"))
        everybody = (self.parties.consumer, self.parties.agent, self.parties.finance, self.parties.operator, service)
        self.callers = dict(zip(Audience, everybody, strict=True))
        self._kept: dict[str, Ids] = {}

    def ids(self, kind: str) -> Ids:
        if kind not in self._kept:
            self._kept[kind] = MAKERS[kind](self.parties)
        return self._kept[kind]

    def use_up(self, kind: str) -> None:
        self._kept.pop(kind, None)


def namesake(live: Live, side: Side, role: Audience) -> str:
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


def _settled(parties: Parties) -> Ids:
    reported = fresh("said")
    awarded = _awarded(parties, fresh("news"))
    attempt = deliver(parties, awarded["contract_id"], f"{GOOD} {reported}")
    ids = {**awarded, "attempt_id": str(attempt["attempt_id"]), "said": reported}
    until_settled(parties.finance, ids["contract_id"])

    def counted() -> bool | None:
        """The sealer comes within a second; the rollups are the last that it writes."""
        found = parties.agent.get("settlement", "/v1/settlements/breakdown", group_by="domain")
        return ids["domain"] in found.text or None

    eventually(counted, what="the contract in the rollups")
    return ids


def _held(parties: Parties) -> Ids:
    ids = _attempted(parties, GOOD, wait_s=0, claimed_metrics={"word_count": 14})
    return {**ids, "hold_id": str(waiting_hold(parties.operator, ids["contract_id"])["hold_id"])}


def _filed(parties: Parties) -> Ids:
    digest = _uploaded_by_both(parties)
    ids = _attempted(parties, GOOD, artifacts=[_named(digest)])
    until_settled(parties.finance, ids["contract_id"])
    return {**ids, "sha256": digest}


def _uploaded(parties: Parties) -> Ids:
    return {**_awarded(parties), "sha256": _uploaded_by_both(parties), "valid": '"valid":true'}


def _unpaid(parties: Parties) -> Ids:
    reported, expected = fresh("said"), randint(10**6, 10**9)
    digest = _uploaded_by_both(parties)
    body = plain_work(
        budget={"max_cpc": "0.50", "base_policy": "on_success"},
        verification={"max_attempts": 1, "feedback": "full"},
        success_criteria={"criteria": [{**WORDS["criteria"][0], "threshold": expected}]},
    )
    work_id = str(parties.consumer.post("work-publisher", "/v1/work", body).json()["work_id"])
    contract_id = award(parties, work_id)
    attempt = deliver(parties, contract_id, reported, artifacts=[_named(digest)], execution_metadata={"note": reported})
    until_status(parties.agent, contract_id, "exhausted")
    until_settled(parties.finance, contract_id)
    ids = {"work_id": work_id, "contract_id": contract_id, "attempt_id": str(attempt["attempt_id"]), "sha256": digest}
    seen = {"message": '"message"', "feedback": _ELEMENT, "hash": str(attempt["candidate_hash"])}
    return {**ids, **seen, "said": reported, "told": str(expected)}


def _uploaded_by_both(parties: Parties) -> str:
    content = fresh("mut_score\n-0.4\n").encode()
    digest = upload(parties.consumer, "work-publisher", content)
    assert upload(parties.agent, "verification", content) == digest
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
    "judged": lambda parties: _attempted(parties, POOR),
    "settled": _settled,
    "held": _held,
    "filed": _filed,
    "uploaded": _uploaded,
    "unpaid": _unpaid,
}
