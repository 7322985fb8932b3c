"""Objects that are there before anything is asked, so that requests come further than a 404."""

from collections.abc import Mapping, Sequence

from aex_models.audiences import Audience
from tests.e2e.live import Live
from tests.e2e.parties import Caller
from tests.security.sides import MAKERS, Side

Known = Mapping[str, Sequence[str]]
EVENTS = "GET /v1/contracts/{contract_id}/events#contract_id"
CLAIMS = "POST /v1/work/{work_id}/claim#work_id"
_NUMBERS = {"open": 4, "claimable": 12, "awarded": 4, "judged": 4, "held": 4, "settled": 1, "uploaded": 1}
"""Some of each kind: a success uses its object up."""


class Objects:
    """Parties with works, contracts, attempts, holds, settlements and files in every state."""

    def __init__(self, live: Live) -> None:
        side = Side(live)
        self.callers: Mapping[Audience, Caller] = side.callers
        made = {kind: [MAKERS[kind](side.parties) for _ in range(number)] for kind, number in _NUMBERS.items()}

        def ids(name: str, *kinds: str) -> list[str]:
            return [each[name] for kind in kinds for each in made[kind]]

        agent, consumer = side.parties.agent, side.parties.consumer
        domains = agent.read("verification", "/v1/domains")["items"]
        self.known: Known = {
            "work_id": [*ids("work_id", "open"), *ids("work_id", "claimable")[:4]],
            CLAIMS: ids("work_id", "claimable"),
            "contract_id": ids("contract_id", "settled", "awarded", "judged", "held"),
            EVENTS: ids("contract_id", "settled"),  # the streams of all others stay open
            "attempt_id": ids("attempt_id", "settled", "judged"),
            "hold_id": ids("hold_id", "held"),
            "agent_id": [agent.id],
            "consumer_id": [consumer.id],
            "account_id": [f"agent:{agent.id}", f"consumer:{consumer.id}", "platform:fees"],
            "sha256": ids("sha256", "uploaded"),
            "name": [str(each["name"]) for each in domains],
        }
