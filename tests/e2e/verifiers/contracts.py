"""Contracts over works that name a verifier, and what their parties read of them."""

from typing import Any

from tests.e2e.jobs import award
from tests.e2e.parties import Parties

GATES = "tests.e2e.verifiers.gates"
WORDS = {"metric": "word_count", "metric_type": "count", "comparison": "gte", "threshold": 3, "bonus": "0.25",
         "penalty": "0.10"}  # fmt: skip
FINE = "three fine words"


def contract(parties: Parties, verifier: str, *criteria: dict[str, Any], **verification: Any) -> str:
    """A contract over a work with this verifier, and with these criteria."""
    body = {
        "title": "Summarise",
        "input": {"text": "Minutes."},
        "success_criteria": {"criteria": list(criteria)} if criteria else None,
        "budget": {"max_cpc": "1.00"},
        "verification": {"verifier": verifier, **verification},
    }
    published = parties.consumer.post("work-publisher", "/v1/work", body)
    assert published.status_code == 201, published.text
    return award(parties, published.json()["work_id"])


def attempts(parties: Parties, contract_id: str) -> list[dict[str, Any]]:
    return list(parties.agent.read("verification", f"/v1/contracts/{contract_id}/attempts")["items"])


def visible(parties: Parties, contract_id: str) -> dict[str, Any]:
    return dict(parties.agent.read("verification", f"/v1/contracts/{contract_id}"))


def outcome(parties: Parties, contract_id: str) -> dict[str, Any]:
    """As the consumer reads it, and the agent sees the same final result."""
    found = dict(parties.consumer.read("verification", f"/v1/outcomes/{contract_id}"))
    agents = parties.agent.read("verification", f"/v1/outcomes/{contract_id}")
    assert agents["final_result"] == found["final_result"]
    return found
