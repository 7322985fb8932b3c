"""Population of a seed: its stories, and the order in which their attempts are posted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from tests.benchmarks.fraud import copies, figures, histories, injections, terms
from tests.benchmarks.fraud.stories import Scene, Story, Variants

START = datetime(2026, 1, 5, tzinfo=UTC)
DAYS = 90
BEYOND = 50
"""Attempts of a burst beyond the limit."""
VELOCITY = "velocity"
FRAUD: Mapping[str, Variants] = {
    "metric_out_of_bounds": figures.OUT_OF_BOUNDS,
    "claimed_metric_mismatch": figures.METRIC_MISMATCH,
    "claimed_value_mismatch": figures.VALUE_MISMATCH,
    "domain_violation": figures.DOMAIN_VIOLATION,
    "latency_impossible": figures.LATENCY,
    "duplicate_output": copies.DUPLICATE,
    "near_duplicate_output": copies.NEAR_DUPLICATE,
    "reference_copy": copies.REFERENCE_COPY,
    "keyword_stuffing": terms.STUFFING,
    "score_probing": terms.PROBING,
    "judge_injection": injections.INJECTION,
    "self_dealing": figures.SELF_DEALING,
    "statistical_outlier": histories.OUTLIER,
}
"""By rule, except `velocity`, whose bursts hold many examples each."""
HONEST_WORK: Mapping[str, Variants] = {
    "grading": injections.GRADING,
    "classification": histories.CLASSIFICATION,
    "structured": histories.STRUCTURED,
    "claims": figures.CLAIMS,
    "times": figures.TIMES,
    "records": histories.RECORDS,
    "busy_agents": histories.BUSY,
    "prose": copies.PROSE,
    "quotations": copies.QUOTATIONS,
    "required_terms": terms.REQUIRED_TERMS,
    "near_references": copies.NEAR_REFERENCES,
    "short_answers": copies.SHORT_ANSWERS,
    "repetitions": copies.REPETITIONS,
    "revisions": terms.REVISIONS,
}
"""By kind; every fourth story is of the first kind."""
RULES = (*FRAUD, VELOCITY)


@dataclass(frozen=True, slots=True)
class Size:
    """Numbers of examples of one seed."""

    per_rule: int = 100
    honest: int = 1_500
    bursts: int = 2


def story(key: str, limits: Mapping[str, Any]) -> Story:
    """Return the story of a key `seed/subject/number`; `limits` are the thresholds of the rule `velocity`."""
    _, subject, number_text = key.split("/")
    number, dice = int(number_text), Random(key)
    if subject == VELOCITY:
        variant, consumers = ("agent", 40) if number % 2 else ("pair", 1)
        scene, limit = Scene(key, subject, variant, dice), limits[f"max_{variant}_outcomes"]
        return Story(key, histories.velocity_burst(scene, limit, BEYOND, limits["window_s"] / 60, consumers))
    variants = FRAUD[subject] if subject in FRAUD else HONEST_WORK[subject]
    variant = [*variants][number % len(variants)]
    return Story(key, variants[variant](Scene(key, subject, variant, dice)))


def story_keys(seed: int, size: Size) -> list[str]:
    """Return the keys of all stories; a smaller population is a part of a larger one."""
    grading, *others = HONEST_WORK
    plain = size.honest - (size.honest + 3) // 4
    return [
        *(f"{seed}/{rule}/{number}" for rule in FRAUD for number in range(size.per_rule)),
        *(f"{seed}/{VELOCITY}/{number}" for number in range(size.bursts)),
        *(f"{seed}/{grading}/{number}" for number in range(size.honest - plain)),
        *(f"{seed}/{others[number % len(others)]}/{number // len(others)}" for number in range(plain)),
    ]


def timeline(stories: Sequence[Story]) -> list[tuple[datetime, Story, int]]:
    """Return the time, story and index of all attempts in the order of posting; stories overlap."""
    posted = []
    for each in stories:
        begin = START + timedelta(minutes=Random(f"begin {each.key}").uniform(0, DAYS * 24 * 60))
        posted += [(begin + timedelta(minutes=a.minutes), each, index) for index, a in enumerate(each.attempts)]
    return sorted(posted, key=lambda one: (one[0], one[1].key, one[2]))
