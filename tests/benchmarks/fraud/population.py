"""Population of a seed: its stories, and the order in which their attempts are posted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random

from tests.benchmarks.fraud import fraud_figures, fraud_texts, honest_figures, honest_grading, honest_texts
from tests.benchmarks.fraud.injections import INJECTION
from tests.benchmarks.fraud.stories import Scene, Story, Variants

START = datetime(2026, 1, 5, tzinfo=UTC)
DAYS = 90
BEYOND = 50
"""Attempts of a burst beyond the limit."""
VELOCITY = "velocity"
GRADING = "grading"
FRAUD: Mapping[str, Variants] = {
    "metric_out_of_bounds": fraud_figures.OUT_OF_BOUNDS,
    "claimed_metric_mismatch": fraud_figures.METRIC_MISMATCH,
    "claimed_value_mismatch": fraud_figures.VALUE_MISMATCH,
    "domain_violation": fraud_figures.DOMAIN_VIOLATION,
    "latency_impossible": fraud_figures.LATENCY,
    "duplicate_output": fraud_texts.DUPLICATE,
    "near_duplicate_output": fraud_texts.NEAR_DUPLICATE,
    "reference_copy": fraud_texts.REFERENCE_COPY,
    "keyword_stuffing": fraud_texts.STUFFING,
    "score_probing": fraud_texts.PROBING,
    "judge_injection": INJECTION,
    "self_dealing": fraud_figures.SELF_DEALING,
    "statistical_outlier": fraud_figures.OUTLIER,
}
"""By rule, except `velocity`, whose bursts hold many examples each."""
HONEST_WORK: Mapping[str, Variants] = {
    "classification": honest_figures.CLASSIFICATION,
    "structured": honest_figures.STRUCTURED,
    "claims": honest_figures.CLAIMS,
    "times": honest_figures.TIMES,
    "records": honest_figures.RECORDS,
    "busy_agents": honest_figures.BUSY,
    "prose": honest_texts.PROSE,
    "quotations": honest_texts.QUOTATIONS,
    "required_terms": honest_texts.REQUIRED_TERMS,
    "near_references": honest_texts.NEAR_REFERENCES,
    "short_answers": honest_texts.SHORT_ANSWERS,
    "repetitions": honest_texts.REPETITIONS,
    "revisions": honest_texts.REVISIONS,
    GRADING: honest_grading.GRADING,
}
RULES = (*FRAUD, VELOCITY)


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of the rule `velocity`."""

    agent: int
    pair: int
    window_minutes: float


@dataclass(frozen=True, slots=True)
class Size:
    """Numbers of examples of one seed."""

    per_rule: int = 100
    honest: int = 1_500
    bursts: int = 2


@dataclass(frozen=True, slots=True)
class Moment:
    """An attempt with its time of posting."""

    at: datetime
    story: Story
    index: int


def story(key: str, limits: Limits) -> Story:
    """Return the story of a key `seed/subject/number`."""
    _, subject, number_text = key.split("/")
    number, dice = int(number_text), Random(key)
    if subject == VELOCITY:
        variant, limit, consumers = ("pair", limits.pair, 1) if number % 2 == 0 else ("agent", limits.agent, 40)
        scene = Scene(key, subject, variant, dice)
        return Story(key, fraud_figures.velocity_burst(scene, limit, BEYOND, limits.window_minutes, consumers))
    variants = FRAUD[subject] if subject in FRAUD else HONEST_WORK[subject]
    variant = [*variants][number % len(variants)]
    return Story(key, variants[variant](Scene(key, subject, variant, dice)))


def story_keys(seed: int, size: Size) -> list[str]:
    """Return the keys of all stories; every fourth honest one is about grading.

    A smaller population is a part of a larger one.
    """
    others = [kind for kind in HONEST_WORK if kind != GRADING]
    plain = size.honest - (size.honest + 3) // 4
    return [
        *(f"{seed}/{rule}/{number}" for rule in FRAUD for number in range(size.per_rule)),
        *(f"{seed}/{VELOCITY}/{number}" for number in range(size.bursts)),
        *(f"{seed}/{GRADING}/{number}" for number in range(size.honest - plain)),
        *(f"{seed}/{others[number % len(others)]}/{number // len(others)}" for number in range(plain)),
    ]


def timeline(stories: Sequence[Story]) -> list[Moment]:
    """Return all attempts in the order of posting; stories overlap."""
    moments = []
    for each in stories:
        begin = START + timedelta(minutes=Random(f"begin {each.key}").uniform(0, DAYS * 24 * 60))
        for index, attempt in enumerate(each.attempts):
            moments.append(Moment(begin + timedelta(minutes=attempt.minutes), each, index))
    return sorted(moments, key=lambda moment: (moment.at, moment.story.key, moment.index))
