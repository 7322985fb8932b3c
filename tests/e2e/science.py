"""Works with science, their raw data, and the claims that agents make of them."""

import random
import statistics
from typing import Any

from tests.e2e.jobs import award
from tests.e2e.parties import Caller, Parties

DMS = "bioinformatics/DMS"
SECRET = "canary: position 42 is the most tolerant one"
"""The outcome that the consumer expects: no agent ever reads it."""
CONSISTENT = {
    "metric": "values_consistent",
    "metric_type": "boolean",
    "comparison": "eq",
    "threshold": True,
    "bonus": "0.30",
    "penalty": "0.05",
}
PLAUSIBLE = {
    "metric": "values_plausible",
    "metric_type": "boolean",
    "comparison": "eq",
    "threshold": True,
    "bonus": "0.15",
    "penalty": "0.01",
}
MEAN = {"name": "mean_fitness", "stat": "mean", "column": "mut_score"}
CSV = "text/csv"


def scores(seed: int = 1, rows: int = 300, mean: float = -0.4) -> list[float]:
    """Fitness scores as an experiment gives them, with a mean of about -0.4."""
    dice = random.Random(seed)
    return [round(min(1.9, max(-4.9, dice.gauss(mean, 0.7))), 4) for _ in range(rows)]


def dms_csv(values: list[float]) -> str:
    """A table of mutants and their scores."""
    lines = [f"M{location}A,{value}" for location, value in enumerate(values, 1)]
    return "\n".join(["mutant,mut_score", *lines, ""])


SCORES = scores()
TABLE = dms_csv(SCORES)
TRUTH = statistics.fmean(SCORES)


def claimed(value: float, decimals: int = 4) -> float:
    """A value as an honest agent reports it."""
    return round(value, decimals)


def artifact(content: str, name: str = "scores.csv", media_type: str = CSV) -> dict[str, Any]:
    """A file within a candidate."""
    return {"name": name, "media_type": media_type, "content": content}


def upload(who: Caller, service: str, content: bytes) -> str:
    """The digest of a file, uploaded."""
    answer = who.live.http.put(
        who.live.url(service, "/v1/artifacts"),
        content=content,
        headers={"Authorization": f"Bearer {who.token}", "Content-Type": "application/octet-stream"},
    )
    assert answer.status_code == 201, answer.text
    return str(answer.json()["sha256"])


def science_work(science: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    """A work that wants the mean fitness of a deep mutational scan, recomputed and plausible."""
    return {
        "title": "Mean fitness of a deep mutational scan",
        "domain": DMS,
        "input": {"question": "How do single mutations change fitness on average?"},
        "success_criteria": {"criteria": [CONSISTENT, PLAUSIBLE]},
        "budget": {"max_cpc": "1.00", "max_cpa_total": "0.45", "max_penalty_total": "0.06"},
        "science": {
            "question": "How do single mutations change fitness on average?",
            "expected_outcome": SECRET,
            "statistics": [MEAN],
            **(science or {}),
        },
        **changes,
    }


def science_contract(parties: Parties, science: dict[str, Any] | None = None, **changes: Any) -> str:
    """A contract over such a work."""
    answer = parties.consumer.post("work-publisher", "/v1/work", science_work(science, **changes))
    assert answer.status_code == 201, answer.text
    return award(parties, answer.json()["work_id"])


def claim(
    parties: Parties, contract_id: str, values: dict[str, Any], *artifacts: dict[str, Any], **further: Any
) -> dict[str, Any]:
    """The attempt at a candidate with these claims, judged or held."""
    body = {
        "output": {"text": "Single mutations lower fitness a little on average."},
        "claimed_values": values,
        "artifacts": list(artifacts),
        **further,
    }
    answer = parties.agent.post("verification", f"/v1/contracts/{contract_id}/outputs?wait_s=30", body)
    assert answer.is_success, answer.text
    return dict(answer.json())


def answers_to(reader: Caller, contract_id: str) -> dict[str, str]:
    """Return every answer about a finished contract to this reader, with events and exports, by request."""
    work_id = reader.read("verification", f"/v1/contracts/{contract_id}")["work_id"]
    attempts = reader.read("verification", f"/v1/contracts/{contract_id}/attempts")["items"]
    requested: dict[str, tuple[str, str, dict[str, str]]] = {
        "work": ("work-publisher", f"/v1/work/{work_id}", {}),
        "works": ("work-publisher", "/v1/work", {}),
        "contract": ("verification", f"/v1/contracts/{contract_id}", {}),
        "contracts": ("verification", "/v1/contracts", {}),
        "attempts": ("verification", f"/v1/contracts/{contract_id}/attempts", {}),
        **{
            each["attempt_id"]: ("verification", f"/v1/contracts/{contract_id}/attempts/{each['attempt_id']}", {})
            for each in attempts
        },
        "events": ("verification", f"/v1/contracts/{contract_id}/events", {}),
        "outcome": ("verification", f"/v1/outcomes/{contract_id}", {}),
        "outcomes": ("verification", "/v1/outcomes", {}),
        "export jsonl": ("verification", "/v1/outcomes/export", {"format": "jsonl"}),
        "export rollouts": ("verification", "/v1/outcomes/export", {"format": "rollouts"}),
    }
    reported = {what: reader.get(service, path, **query) for what, (service, path, query) in requested.items()}
    refused = {what: (answer.status_code, answer.text) for what, answer in reported.items() if not answer.is_success}
    assert refused == {}
    return {what: answer.text for what, answer in reported.items()}


def science_of(reader: Caller, contract_id: str, attempt_id: str) -> dict[str, Any]:
    """Return the gate's conclusion on an attempt, as this reader sees it."""
    seen = reader.read("verification", f"/v1/contracts/{contract_id}/attempts/{attempt_id}")
    assert seen["result"] is not None, seen
    return dict(seen["result"]["science"])
