"""Actions of parties in the tests: publish, award, deliver, and wait for the platform."""

import time
from collections.abc import Callable
from typing import Any, TypeVar

from tests.e2e.parties import TIMEOUT_S, Caller, Parties

T = TypeVar("T")
_POLL_S = 0.05

REFERENCE = "The committee approved the new budget for public libraries on Monday after a long debate in the town hall"
GOOD = "On Monday the committee approved the new budget for public libraries after a long debate in the town hall"
POOR = "Nothing was decided"

CRITERIA = {
    "criteria": [
        {
            "metric": "rougeL",
            "metric_type": "rouge_score",
            "comparison": "gte",
            "threshold": 0.4,
            "bonus": "0.30",
            "penalty": "0.05",
        },
        {
            "metric": "word_count",
            "metric_type": "count",
            "comparison": "in_range",
            "threshold": {"min": 5, "max": 60},
            "bonus": "0.200001",
            "penalty": "0.02",
        },
    ]
}
WORDS = {
    "criteria": [
        {
            "metric": "word_count",
            "metric_type": "count",
            "comparison": "gte",
            "threshold": 3,
            "bonus": "0.25",
            "penalty": "0.10",
        }
    ]
}
"""Criteria without evaluation data."""


def work_body(**changes: Any) -> dict[str, Any]:
    """A work with secret evaluation data, two criteria and a budget, less what the test changes."""
    return {
        "title": "Summarise the minutes",
        "domain": "news",
        "input": {"text": "Minutes of the meeting of the town's committee."},
        "evaluation": {"reference": REFERENCE},
        "success_criteria": CRITERIA,
        "budget": {"max_cpc": "1.00", "max_cpa_total": "0.45", "max_penalty_total": "0.06"},
        **changes,
    }


def plain_work(**changes: Any) -> dict[str, Any]:
    """A work that wants three words, and has no secrets."""
    return {"title": "Say something", "success_criteria": WORDS, "budget": {"max_cpc": "0.50"}, **changes}


def candidate(text: str, **further: Any) -> dict[str, Any]:
    """A candidate with this text."""
    return {"output": {"text": text}, **further}


def publish(parties: Parties, **changes: Any) -> dict[str, Any]:
    """The work, as its publication answered it."""
    answer = parties.consumer.post("work-publisher", "/v1/work", work_body(**changes))
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def award(parties: Parties, work_id: str, cpc_rate: str = "0.40", **headers: str) -> str:
    """The contract of the work, awarded to the agent."""
    body = {"agent_id": parties.agent.id, "cpc_rate": cpc_rate}
    answer = parties.consumer.post("work-publisher", f"/v1/work/{work_id}/award", body, headers=headers)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["contract_id"])


def contract(parties: Parties, cpc_rate: str = "0.40", **changes: Any) -> str:
    """A contract over a work that was just published."""
    return award(parties, publish(parties, **changes)["work_id"], cpc_rate)


def deliver(parties: Parties, contract_id: str, text: str, wait_s: float = 30, **further: Any) -> dict[str, Any]:
    """The attempt, as the agent is answered."""
    path = f"/v1/contracts/{contract_id}/outputs?wait_s={wait_s:g}"
    answer = parties.agent.post("verification", path, candidate(text, **further))
    assert answer.is_success, answer.text
    return dict(answer.json())


def eventually(
    look: Callable[[], T | None], within_s: float = TIMEOUT_S, what: str = "it", poll_s: float = _POLL_S
) -> T:
    """Return the first true result of `look`, polled until a deadline."""
    deadline = time.monotonic() + within_s
    while True:
        found = look()
        if found is not None:
            return found
        assert time.monotonic() < deadline, f"{what} did not come within {within_s:g} s"
        time.sleep(poll_s)


def until_status(reader: Caller, contract_id: str, *wanted: str, within_s: float = TIMEOUT_S) -> dict[str, Any]:
    """The contract, once it is in one of these statuses."""

    def look() -> dict[str, Any] | None:
        seen = dict(reader.read("verification", f"/v1/contracts/{contract_id}"))
        return seen if seen["status"] in wanted else None

    return eventually(look, within_s, f"{contract_id} {wanted}")


def until_settled(
    finance: Caller, contract_id: str, within_s: float = TIMEOUT_S, poll_s: float = _POLL_S
) -> dict[str, Any]:
    """The settlement of the contract, once there is one."""

    def look() -> dict[str, Any] | None:
        answer = finance.get("settlement", f"/v1/settlements/{contract_id}")
        return dict(answer.json()) if answer.is_success else None

    return eventually(look, within_s, f"the settlement of {contract_id}", poll_s)


def until_work(reader: Caller, work_id: str, status: str) -> dict[str, Any]:
    """The work, once it is in this status."""

    def look() -> dict[str, Any] | None:
        seen = dict(reader.read("work-publisher", f"/v1/work/{work_id}"))
        return seen if seen["status"] == status else None

    return eventually(look, what=f"{work_id} {status}")


def amounts(cost: dict[str, Any]) -> tuple[str, str, str, str]:
    """Base, bonus, penalty, total."""
    return cost["base"], cost["bonus"], cost["penalty"], cost["total"]
