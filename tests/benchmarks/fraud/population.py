"""All stories of one seed, and the order in which their attempts come in: the stories happen side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random

from tests.benchmarks.fraud.corpus import (
    claimed_metric_mismatch,
    claimed_value_mismatch,
    domain_violation,
    duplicate_output,
    judge_injection,
    keyword_stuffing,
    latency_impossible,
    metric_out_of_bounds,
    near_duplicate_output,
    reference_copy,
    score_probing,
    self_dealing,
    statistical_outlier,
    velocity,
)
from tests.benchmarks.fraud.honest import (
    about_judging,
    boilerplate,
    busy_agents,
    claims,
    classification,
    fast_agents,
    near_references,
    own_repeats,
    plain_prose,
    quotations,
    records,
    required_terms,
    revisions,
    short_answers,
    slow_agents,
    structured,
)
from tests.benchmarks.fraud.scene import Make, Scene
from tests.benchmarks.fraud.story import Story

START = datetime(2026, 1, 5, tzinfo=UTC)
DAYS = 90

_FRAUD = (
    metric_out_of_bounds,
    claimed_metric_mismatch,
    claimed_value_mismatch,
    domain_violation,
    latency_impossible,
    duplicate_output,
    near_duplicate_output,
    reference_copy,
    keyword_stuffing,
    score_probing,
    judge_injection,
    self_dealing,
    statistical_outlier,
)
_HONEST = (
    classification,
    short_answers,
    revisions,
    quotations,
    plain_prose,
    boilerplate,
    about_judging,
    structured,
    required_terms,
    near_references,
    claims,
    slow_agents,
    fast_agents,
    records,
    busy_agents,
    own_repeats,
)
VELOCITY = "velocity"


def _name(module: object) -> str:
    return str(getattr(module, "__name__", "")).rpartition(".")[2]


FRAUD: Mapping[str, Mapping[str, Make]] = {_name(each): each.VARIANTS for each in _FRAUD}
"""By rule, by variant. Bursts are made otherwise: see `corpus.velocity`."""
HONEST_WORK: Mapping[str, Mapping[str, Make]] = {_name(each): each.VARIANTS for each in _HONEST}
"""By kind, by variant."""
RULES = (*FRAUD, VELOCITY)


@dataclass(frozen=True, slots=True)
class Limits:
    """What the rule `velocity` is configured with: a burst is what goes beyond it."""

    agent: int
    pair: int
    window_minutes: float


@dataclass(frozen=True, slots=True)
class Size:
    """How many examples of one seed there are."""

    per_rule: int = 100
    honest: int = 1_500
    bursts: int = 2
    """Long stories, with `BEYOND` examples each."""


BEYOND = 50


@dataclass(frozen=True, slots=True)
class Moment:
    """One attempt, and when it is posted."""

    at: datetime
    story: Story
    place: int


class UnknownExample(ValueError):
    """No example has this key."""


def story(key: str, limits: Limits) -> Story:
    """The story of a key, `seed/subject/number`: always the same. Raises `UnknownExample`."""
    seed, _, rest = key.partition("/")
    subject, _, number = rest.partition("/")
    if not (seed.isdecimal() and number.isdecimal()) or subject not in {*RULES, *HONEST_WORK}:
        raise UnknownExample(f"{key!r} is no example: expected SEED/RULE-OR-KIND/NUMBER, for instance 101/{RULES[6]}/3")
    dice = Random(key)
    if subject == VELOCITY:
        return _burst(key, int(number), dice, limits)
    variants = FRAUD[subject] if subject in FRAUD else HONEST_WORK[subject]
    variant = [*variants][int(number) % len(variants)]
    return Story(key, tuple(variants[variant](Scene(key, subject, variant, dice))))


def _burst(key: str, number: int, dice: Random, limits: Limits) -> Story:
    """Of a pair and of an agent in turns; which way differs by seed."""
    table, limit = (velocity.PAIR, limits.pair) if number % 2 == 0 else (velocity.AGENT, limits.agent)
    variant = dice.choice([*table])
    scene = Scene(key, VELOCITY, variant, dice)
    return Story(key, tuple(table[variant](scene, limit, BEYOND, limits.window_minutes)))


def keys(seed: int, size: Size) -> list[str]:
    """The keys of all stories of a seed. A smaller population is a part of a larger one."""
    kinds = [*HONEST_WORK]
    return [
        *(f"{seed}/{rule}/{number}" for rule in FRAUD for number in range(size.per_rule)),
        *(f"{seed}/{VELOCITY}/{number}" for number in range(size.bursts)),
        *(f"{seed}/{kinds[place % len(kinds)]}/{place // len(kinds)}" for place in range(size.honest)),
    ]


def timeline(stories: Sequence[Story]) -> list[Moment]:
    """All attempts in the order in which they are posted: each story begins when its key's dice say."""
    moments = []
    for each in stories:
        begin = START + timedelta(minutes=Random(f"begin {each.key}").uniform(0, DAYS * 24 * 60))
        for place, attempt in enumerate(each.attempts):
            moments.append(Moment(begin + timedelta(minutes=attempt.minutes), each, place))
    return sorted(moments, key=lambda moment: (moment.at, moment.story.key, moment.place))
