"""Validations and outcomes drawn at random: who, what, when, which text; the same for the same seed and number."""

import random
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from typing import Any

from aex_models.canonical import sha256_hex
from aex_models.governance import Action, Flag, Party, Severity, ValidationDecision, ValidationRequest

SEED = 7
FIRST_DAY = datetime(2025, 1, 15, tzinfo=UTC)
DAYS = 60
LAST_MOMENT = FIRST_DAY + timedelta(days=DAYS)
AGENTS, CONSUMERS = 2_000, 400
DOMAINS = tuple(f"{field}/{part}" for field in ("news", "law", "medicine", "physics") for part in range(5))
FREE_TEXTS, COPIES, NEAR_COPIES = 0.30, 0.02, 0.02
"""The share of prose among all outputs, and of copies and near copies among prose."""
ORIGINALS = 60
"""Texts that are copied are among the first: a history of any size holds them."""
_LABELS = ("positive", "negative", "neutral", "mixed")
_ENDINGS = ("passed", "passed", "passed", "passed", "exhausted", "expired")
_DAY_US = 86_400_000_000
_SYLLABLES = ("ka", "lo", "mi", "ren", "tu", "sol", "va", "den", "pri", "est", "or", "ban", "qui", "fa", "zem", "ul")


def _vocabulary() -> tuple[str, ...]:
    chance = random.Random(SEED)
    words: dict[str, None] = {}
    while len(words) < 6_000:
        words["".join(chance.choices(_SYLLABLES, k=chance.choice((1, 2, 2, 3, 3, 4))))] = None
    return tuple(words)


@dataclass(frozen=True, slots=True)
class Words:
    """A language in which, as in any, the word of rank n is about 1/n as frequent as the first."""

    known: tuple[str, ...]
    weights: tuple[float, ...]

    @classmethod
    def made(cls) -> "Words":
        """The language of this benchmark."""
        known = _vocabulary()
        return cls(known, tuple(accumulate(1 / rank for rank in range(2, len(known) + 2))))

    def prose(self, chance: random.Random) -> str:
        """Sentences, 60 to 240 words of them."""
        words = chance.choices(self.known, cum_weights=self.weights, k=chance.randrange(60, 240))
        for place in range(0, len(words), 12):
            words[place] = words[place].capitalize()
            words[place - 1] += "."
        return " ".join(words)

    def reworded(self, text: str, chance: random.Random) -> str:
        """The text with a word in fifty replaced: a near copy."""
        words = text.split(" ")
        for place in chance.sample(range(len(words)), max(len(words) // 50, 1)):
            words[place] = chance.choice(self.known)
        return " ".join(words)


@dataclass(frozen=True, slots=True)
class Drawn:
    """One contract's only attempt, what was decided about it, and how the contract ended."""

    request: ValidationRequest
    decision: ValidationDecision
    decided_at: datetime
    outcome: dict[str, Any]
    """Fields of an `OutcomeEntry`."""


class Drawing:
    """Draws the contract with a given number out of the first so many: their time is spread over all days."""

    def __init__(self, contracts: int) -> None:
        self._contracts = contracts
        self._words = Words.made()

    def text(self, number: int) -> str:
        """What this contract's agent delivered."""
        chance = random.Random(f"{SEED} text {number}")
        if chance.random() >= FREE_TEXTS:
            return " ".join(chance.choices(_LABELS, k=chance.randrange(1, 40)))
        kind = chance.random()
        if number >= ORIGINALS and kind < COPIES + NEAR_COPIES:
            original = self.original(chance.randrange(ORIGINALS))
            return original if kind < COPIES else self._words.reworded(original, chance)
        return self._words.prose(chance)

    def original(self, number: int) -> str:
        """A text that others have copied; every one of them is prose."""
        return self._words.prose(random.Random(f"{SEED} original {number}"))

    def reworded(self, number: int, draft: int) -> str:
        """A near copy of an original that nobody has delivered yet."""
        chance = random.Random(f"{SEED} draft {number} {draft}")
        return self._words.reworded(self.original(number), chance)

    def fresh(self, number: int) -> str:
        """Prose that nobody has delivered yet."""
        return self._words.prose(random.Random(f"{SEED} fresh {number}"))

    def contract(self, number: int) -> Drawn:
        """All about the contract with this number."""
        chance = random.Random(f"{SEED} {number}")
        at = FIRST_DAY + timedelta(microseconds=DAYS * _DAY_US * number // self._contracts)
        text = self.original(number) if number < ORIGINALS else self.text(number)
        request = request_of(chance, f"{number:09}", text, at)
        decision = _decided(chance)
        ending = chance.choice(_ENDINGS) if decision.valid else "failed"
        outcome = {
            "contract_id": request.contract_id,
            "agent_id": request.agent.id,
            "consumer_id": request.consumer.id,
            "domain": request.domain,
            "final_status": ending,
            "success": ending == "passed",
            "flags": tuple(flag.rule for flag in decision.flags),
            "occurred_at": at + timedelta(seconds=1),
        }
        return Drawn(request, decision, at + timedelta(milliseconds=50), outcome)


def request_of(chance: random.Random, name: str, text: str, at: datetime) -> ValidationRequest:
    """A question about an output, from a random agent for a random consumer."""
    words = text.count(" ") + 1
    latency_ms = round(chance.lognormvariate(7, 0.5), 1)
    quality = round(chance.betavariate(8, 3), 6)
    # A few agents do much of the work, and each has a few domains of its own.
    agent = int(AGENTS * chance.random() ** 2)
    return ValidationRequest(
        attempt_id=f"att_{sha256_hex(name.encode())[:8]}{name}",
        contract_id=f"ctr_{sha256_hex(name.encode())[:8]}{name}",
        work_id=f"work_{sha256_hex(name.encode())[:8]}{name}",
        domain=DOMAINS[(agent + chance.randrange(3)) % len(DOMAINS)],
        agent=Party(id=f"agent-{agent:04}", org=f"org-{agent % 97}"),
        consumer=Party(id=f"consumer-{chance.randrange(CONSUMERS):03}"),
        extracted_metrics={
            "rougeL": quality,
            "bleu_score": round(quality * 0.6, 6),
            "latency_ms": latency_ms,
            "word_count": words,
            "output_length": len(text),
        },
        claimed_metrics={"word_count": words},
        execution_metadata={"duration_ms": latency_ms, "tokens": words * 2},
        platform_latency_ms=latency_ms + 40,
        output_text=text,
        output_hash=sha256_hex(text.encode()),
        received_at=at,
    )


def _decided(chance: random.Random) -> ValidationDecision:
    """Nineteen in twenty are allowed; every tenth is flagged."""
    luck = chance.random()
    if luck < 0.90:
        return ValidationDecision(valid=True, action=Action.ALLOW)
    held = luck >= 0.95
    flag = Flag(
        rule="claimed_metric_mismatch",
        severity=Severity.MAJOR if held else Severity.MINOR,
        message="The claim differs from the extraction",
        evidence={"metrics": {"word_count": {"claimed": 130, "extracted": 100, "relative": 0.3}}},
    )
    action = Action.HOLD if held else Action.ALLOW
    return ValidationDecision(valid=not held, action=action, flags=(flag,), risk_score=0.6 if held else 0.2)
