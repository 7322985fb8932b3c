"""The labelled corpus is reproducible and has true labels."""

import pytest

from aex_governance.rules.config import load_rules
from tests.benchmarks.fraud.judging import velocity_limits
from tests.benchmarks.fraud.population import FRAUD, HONEST_WORK, Size, story, story_keys, timeline
from tests.benchmarks.fraud.stories import Label, Story

LIMITS = velocity_limits(load_rules())
SUBJECTS = [*FRAUD, *HONEST_WORK]


def stories(subject: str, count: int = 26) -> list[Story]:
    return [story(f"3/{subject}/{number}", LIMITS) for number in range(count)]


def labels(subject: str) -> list[Label]:
    return [attempt.label for each in stories(subject) for attempt in each.attempts if attempt.label]


def test_seed_determines_the_population() -> None:
    first, second = (
        [story(key, LIMITS) for key in story_keys(5, Size(per_rule=2, honest=32, bursts=0))] for _ in range(2)
    )
    assert first == second
    assert timeline(first) == timeline(second)


@pytest.mark.parametrize("subject", SUBJECTS)
def test_stories_have_their_subject_and_every_variant(subject: str) -> None:
    found = labels(subject)
    assert {label.subject.removeprefix("honest: ") for label in found} == {subject}
    assert {label.variant for label in found} == set(FRAUD.get(subject) or HONEST_WORK[subject])
    assert all(label.is_fraud is (subject in FRAUD) for label in found)


def test_burst_is_labelled_beyond_the_limit() -> None:
    for key, limit in (("3/velocity/0", LIMITS.pair), ("3/velocity/1", LIMITS.agent)):
        attempts = story(key, LIMITS).attempts
        assert [each.label is not None for each in attempts].index(True) == limit
        assert attempts[-1].minutes < LIMITS.window_minutes
        assert (len({each.work.consumer.id for each in attempts}) == 1) is (limit == LIMITS.pair)
