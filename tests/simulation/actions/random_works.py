"""Random works of consumers and random deliveries of agents."""

import random
from dataclasses import dataclass
from typing import Any

from aex_models.contract import Candidate
from aex_runtime.identity.principals import Principal
from tests.simulation.actions.science import ABSURD, CLAIM, TRUE
from tests.simulation.faults.partners import DEADLY, ENDLESS, SOUND

CODE = "def evaluate(input, output, metadata):\n    return 1  # {}\n"
_MOODS = {"fine": 10, "dull": 3, "hopeless": 1, "crash": 1}
"""First words of a candidate's text, with weights; the named verifiers decide by them."""


@dataclass(frozen=True, slots=True)
class ExpectedContract:
    """An awarded contract with the cost range that its consumer was quoted."""

    contract_id: str
    work_id: str
    consumer: str
    agent: str
    least: str
    most: str
    verifier: str | None
    science: bool


@dataclass(frozen=True, slots=True)
class OpenWork:
    """A work that was published, and not awarded yet."""

    work_id: str
    consumer: Principal
    cpc_rate: str
    least: str
    most: str
    code: str | None
    """Custom code of the work."""
    verifier: str | None
    science: bool = False

    def contract_with(self, contract_id: str, agent: str) -> ExpectedContract:
        """Return the contract of this work with an agent."""
        return ExpectedContract(
            contract_id, self.work_id, self.consumer.id, agent, self.least, self.most, self.verifier, self.science
        )


@dataclass(frozen=True, slots=True)
class Shares:
    """Probabilities that a work has custom code and that it names a verifier."""

    custom: float = 0.3
    verifier: float = 0.4
    claims: float = 0.2
    """Probability that agents may claim the work."""
    science: float = 0.3
    """Probability that a work has a science section, and that a candidate has claims."""


def random_work(dice: random.Random, shares: Shares) -> dict[str, Any]:
    """Return the body of a random submission."""
    threshold = dice.randint(1, 6)
    penalty = dice.choice(["0", "0.02", "3.5"])
    custom = dice.random() < shares.custom
    code = dice.choices([SOUND, ENDLESS, DEADLY], [4, 1, 1])[0] if custom else None
    secrets = {"evaluation": {"custom_metrics": [{"name": "mine", "code": CODE.format(code)}]}} if code else {}
    verifier = dice.choice(["summary", "summary", "nothing"]) if dice.random() < shares.verifier else None
    claims = dice.random() < shares.claims
    return {
        **secrets,
        "title": "Write some words",
        "input": {"n": threshold},
        "success_criteria": {
            "criteria": _criteria(threshold, penalty, custom=custom),
            "aggregation": dice.choice(["all", "any", "weighted"]),
            "bonus_policy": dice.choice(["on_success", "per_criterion"]),
        },
        "budget": {
            "max_cpc": dice.choice(["0.10", "1.000001"]),
            "max_cpa_total": dice.choice([None, "0.04", "1"]),
            "max_penalty_total": dice.choice([None, "0"]),
            "base_policy": "on_success" if claims else dice.choice(["judged", "on_success"]),
        },
        "allow_claims": claims,
        "verification": {
            "max_attempts": dice.randint(1, 3),
            "deadline_s": dice.choice([600, 86_400]),
            "verifier": verifier,
        },
    }


def _criteria(threshold: int, penalty: str, *, custom: bool) -> list[dict[str, Any]]:
    words = {"metric": "word_count", "metric_type": "count", "comparison": "gte"}
    own = {"metric": "custom.mine", "metric_type": "count", "comparison": "gte"}
    latency = {"metric": "latency_ms", "metric_type": "latency", "comparison": "lte"}
    return [
        words | {"threshold": threshold, "bonus": "0.05", "penalty": penalty},
        latency | {"threshold": 1000, "bonus": "0.000003"},
        *([own | {"threshold": 2, "bonus": "0.07", "penalty": penalty}] if custom else []),
    ]


def random_candidate(dice: random.Random, *files: dict[str, Any], claims: bool = False) -> Candidate:
    """Return a random candidate: good, bad, with too high claims, of a wrong shape, or a repeated one."""
    claimed = {CLAIM: dice.choice([TRUE, TRUE, ABSURD])} if claims and dice.random() < 0.9 else {}
    words = dice.randint(0, 9)
    mood = dice.choices(list(_MOODS), list(_MOODS.values()))[0]
    text: Any = " ".join([mood, *["word"] * (words - 1)]) if words else ""
    return Candidate.model_validate(
        {
            "output": {"text": words if dice.random() < 0.15 else text},
            "execution_metadata": {"duration_ms": dice.choice([10, 900, 5000])} if dice.random() < 0.8 else {},
            "claimed_metrics": {"word_count": dice.choice([words, words, 50])} if dice.random() < 0.3 else {},
            "claimed_values": claimed,
            "artifacts": list(files),
        }
    )
