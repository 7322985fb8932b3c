"""Objects that are there before anything is asked, so that requests come further than a 404."""

from collections.abc import Mapping, Sequence

from aex_models.audiences import Audience
from tests.e2e.holds import waiting_hold
from tests.e2e.jobs import GOOD, POOR, candidate, contract, deliver, plain_work, publish, until_settled, until_status
from tests.e2e.live import Live
from tests.e2e.parties import Caller, Parties, caller, fresh, parties_of
from tests.e2e.science import upload

Known = Mapping[str, Sequence[str]]
EVENTS = "GET /v1/contracts/{contract_id}/events#contract_id"
CLAIMS = "POST /v1/work/{work_id}/claim#work_id"
_OF_EACH = 4
"""Some of each kind: a success uses its object up."""
_CLAIMABLE = 12


class Objects:
    """Parties with works, contracts, attempts, holds, settlements and files in every state."""

    def __init__(self, live: Live) -> None:
        self.parties: Parties = parties_of(live)
        service = caller(live, Audience.SERVICE, fresh("service:probe"))
        callers = (self.parties.consumer, self.parties.agent, self.parties.finance, self.parties.operator, service)
        self.callers: Mapping[Audience, Caller] = dict(zip(Audience, callers, strict=True))
        self.known: Known = self._made()

    def _made(self) -> Known:
        parties = self.parties
        works = [str(publish(parties)["work_id"]) for _ in range(_OF_EACH)]
        claimable = [self._claimable() for _ in range(_CLAIMABLE)]
        awarded, over = [contract(parties) for _ in range(_OF_EACH)], contract(parties)
        judged, held = [contract(parties) for _ in range(_OF_EACH)], [contract(parties) for _ in range(_OF_EACH)]
        attempts = [str(deliver(parties, over, GOOD)["attempt_id"])]
        attempts += [str(deliver(parties, each, POOR)["attempt_id"]) for each in judged]
        for each in held:
            body = candidate(GOOD, claimed_metrics={"word_count": 14})
            assert parties.agent.post("verification", f"/v1/contracts/{each}/outputs", body).is_success
        until_settled(parties.finance, over)
        for each in held:
            until_status(parties.agent, each, "held")
        content = fresh("kept").encode()
        domains = parties.agent.read("verification", "/v1/domains")["items"]
        files = {upload(parties.consumer, "work-publisher", content), upload(parties.agent, "verification", content)}
        return {
            "work_id": [*works, *claimable[:_OF_EACH]],
            CLAIMS: claimable,
            "contract_id": [over, *awarded, *judged, *held],
            EVENTS: [over],  # the streams of all others stay open
            "attempt_id": attempts,
            "hold_id": [str(waiting_hold(parties.operator, each)["hold_id"]) for each in held],
            "agent_id": [parties.agent.id],
            "consumer_id": [parties.consumer.id],
            "account_id": [f"agent:{parties.agent.id}", f"consumer:{parties.consumer.id}", "platform:fees"],
            "sha256": sorted(files),
            "name": [str(each["name"]) for each in domains],
        }

    def _claimable(self) -> str:
        body = plain_work(allow_claims=True, budget={"max_cpc": "0.50", "base_policy": "on_success"})
        answer = self.parties.consumer.post("work-publisher", "/v1/work", body)
        assert answer.status_code == 201, answer.text
        return str(answer.json()["work_id"])
