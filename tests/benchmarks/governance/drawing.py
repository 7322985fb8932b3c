"""Random validations and outcomes, equal for equal seeds and numbers."""

import random
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
"""The first texts, of which others are copies: a history of any size has them."""
_LABELS = ("positive", "negative", "neutral", "mixed")
_ENDINGS = ("passed", "passed", "passed", "passed", "exhausted", "expired")
_SYLLABLES = ("ka", "lo", "mi", "ren", "tu", "sol", "va", "den", "pri", "est", "or", "ban", "qui", "fa", "zem", "ul")


class Drawing:
    """Draws the contracts of a history; their times are spread over all days."""

    def __init__(self, contracts: int) -> None:
        self._contracts = contracts
        source, words = random.Random(SEED), dict[str, None]()
        while len(words) < 6_000:
            words["".join(source.choices(_SYLLABLES, k=source.choice((1, 2, 2, 3, 3, 4))))] = None
        self._words = tuple(words)
        # As in any language, the word of rank n is about 1/n as frequent as the first.
        self._weights = tuple(accumulate(1 / rank for rank in range(2, len(words) + 2)))

    def original(self, number: int) -> str:
        """Return a text that is copied; each of them is prose."""
        return self._prose(random.Random(f"{SEED} original {number}"))

    def near_copy(self, number: int, draft: int) -> str:
        """Return a near copy of an original that the history does not have."""
        return self._reword(self.original(number), random.Random(f"{SEED} draft {number} {draft}"))

    def fresh(self, number: int) -> str:
        """Return prose that the history does not have."""
        return self._prose(random.Random(f"{SEED} fresh {number}"))

    def contract(self, number: int) -> tuple[ValidationRequest, ValidationDecision, dict[str, Any]]:
        """Draw the only request of a contract, its decision, and the fields of its `OutcomeEntry`."""
        source = random.Random(f"{SEED} {number}")
        at = FIRST_DAY + timedelta(days=DAYS) * number / self._contracts
        text = self.original(number) if number < ORIGINALS else self._text(number)
        request = draw_request(source, f"{number:09}", text, at)
        is_held = source.random() >= 0.95
        status = "failed" if is_held else source.choice(_ENDINGS)
        outcome = {
            "contract_id": request.contract_id,
            "agent_id": request.agent.id,
            "consumer_id": request.consumer.id,
            "domain": request.domain,
            "final_status": status,
            "success": status == "passed",
            "occurred_at": at + timedelta(seconds=1),
        }
        if not is_held:
            return request, ValidationDecision(valid=True, action=Action.ALLOW), {**outcome, "flags": ()}
        flag = Flag(rule="velocity", severity=Severity.MAJOR, message="Many outcomes", evidence={"count": 100})
        decision = ValidationDecision(valid=False, action=Action.HOLD, flags=(flag,), risk_score=0.6)
        return request, decision, {**outcome, "flags": ("velocity",)}

    def _text(self, number: int) -> str:
        source = random.Random(f"{SEED} text {number}")
        if source.random() >= FREE_TEXTS:
            return " ".join(source.choices(_LABELS, k=source.randrange(1, 40)))
        kind = source.random()
        if kind >= COPIES + NEAR_COPIES:
            return self._prose(source)
        original = self.original(source.randrange(ORIGINALS))
        return original if kind < COPIES else self._reword(original, source)

    def _prose(self, source: random.Random) -> str:
        """Return sentences of 60 to 240 words."""
        words = source.choices(self._words, cum_weights=self._weights, k=source.randrange(60, 240))
        for index in range(0, len(words), 12):
            words[index] = words[index].capitalize()
            words[index - 1] += "."
        return " ".join(words)

    def _reword(self, text: str, source: random.Random) -> str:
        """Return the text with one word in fifty replaced."""
        words = text.split(" ")
        for index in source.sample(range(len(words)), max(len(words) // 50, 1)):
            words[index] = source.choice(self._words)
        return " ".join(words)


def draw_request(source: random.Random, name: str, text: str, at: datetime) -> ValidationRequest:
    """Draw a request about an output, from a random agent for a random consumer."""
    words, suffix = text.count(" ") + 1, f"{sha256_hex(name.encode())[:8]}{name}"
    latency_ms = round(source.lognormvariate(7, 0.5), 1)
    quality = round(source.betavariate(8, 3), 6)
    agent = int(AGENTS * source.random() ** 2)  # a few agents do much of the work, each in a few domains
    return ValidationRequest(
        attempt_id=f"att_{suffix}",
        contract_id=f"ctr_{suffix}",
        work_id=f"work_{suffix}",
        domain=DOMAINS[(agent + source.randrange(3)) % len(DOMAINS)],
        agent=Party(id=f"agent-{agent:04}", org=f"org-{agent % 97}"),
        consumer=Party(id=f"consumer-{source.randrange(CONSUMERS):03}"),
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
