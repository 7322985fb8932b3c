"""The labelled corpus: made again from its seed, and its labels say what the stories do."""

from collections.abc import Iterator
from random import Random
from statistics import median

import pytest

from aex_governance.rules.config import load_rules
from aex_models.governance import Severity
from aex_outcomes.lifecycle.hashing import output_hash
from tests.benchmarks.fraud.asking import Asking
from tests.benchmarks.fraud.population import (
    FRAUD,
    HONEST_WORK,
    RULES,
    Size,
    UnknownExample,
    keys,
    story,
    timeline,
)
from tests.benchmarks.fraud.scene import TUNING_SEEDS, Scene
from tests.benchmarks.fraud.service import limits_of
from tests.benchmarks.fraud.story import Attempt, Story
from tests.benchmarks.fraud.test_texts import likeness, words

LIMITS = limits_of(load_rules())
SMALL = Size(per_rule=2, honest=32, bursts=0)
SUBJECTS = [*FRAUD, *HONEST_WORK]


def stories(subject: str, count: int = 26, seed: int = 3) -> Iterator[Story]:
    return (story(f"{seed}/{subject}/{number}", LIMITS) for number in range(count))


def text_of(attempt: Attempt) -> str:
    output = attempt.output
    return str(output if isinstance(output, str) else output["text"])


def test_a_seed_is_one_population() -> None:
    first, second = ([story(key, LIMITS) for key in keys(5, SMALL)] for _ in range(2))
    assert first == second
    assert timeline(first) == timeline(second)


def test_seeds_are_different_populations() -> None:
    one, other = ({repr(story(key, LIMITS).attempts) for key in keys(seed, SMALL)} for seed in (5, 6))
    assert not one & other


def test_seeds_that_nobody_tuned_on_have_wordings_that_tuning_seeds_lack() -> None:
    wordings = [f"wording {number}" for number in range(9)]
    tuning, other = (
        {Scene(f"{seed}/claims/1", "claims", "x", Random(dice)).known(wordings) for dice in range(200)}
        for seed in (TUNING_SEEDS[0], 101)
    )
    assert tuning == set(wordings[:6])
    assert other == set(wordings)


def test_a_larger_population_has_all_of_a_smaller_one() -> None:
    assert set(keys(5, SMALL)) < set(keys(5, Size()))


def test_every_rule_that_governance_has_has_examples() -> None:
    assert set(RULES) == set(load_rules())


@pytest.mark.parametrize("subject", SUBJECTS)
def test_each_story_is_about_its_subject_and_every_variant_has_its_turn(subject: str) -> None:
    labels = [label for each in stories(subject) for _, label in each.labelled()]
    assert {label.subject.removeprefix("honest: ") for label in labels} == {subject}
    assert {label.variant for label in labels} == {*_variants(subject)}
    assert all(label.is_fraud is (subject in FRAUD) for label in labels)


def _variants(subject: str) -> list[str]:
    return [*(FRAUD[subject] if subject in FRAUD else HONEST_WORK[subject])]


@pytest.mark.parametrize("subject", SUBJECTS)
def test_nobody_works_for_themselves_but_who_is_to_be_caught_at_it(subject: str) -> None:
    for attempt in (attempt for each in stories(subject) for attempt in each.attempts):
        agent, consumer = attempt.agent, attempt.work.consumer
        together = agent.id == consumer.id or (agent.org is not None and agent.org == consumer.org)
        assert together is (subject == "self_dealing")


@pytest.mark.parametrize(
    "key", ["", "3", "3/velocity", "3/unheard_of/1", "x/velocity/1", "3/velocity/one", "3/claims/-1"]
)
def test_what_is_no_example_is_refused_with_one_that_is(key: str) -> None:
    with pytest.raises(UnknownExample, match="SEED/RULE-OR-KIND/NUMBER"):
        story(key, LIMITS)


def test_a_copy_is_the_same_output_by_somebody_else_or_for_somebody_else() -> None:
    for each in stories("duplicate_output"):
        first, last = each.attempts[0], each.attempts[-1]
        assert output_hash(first.output) == output_hash(last.output)
        assert first.work.work_id != last.work.work_id
        assert last.label is not None
        is_own = last.label.severity is Severity.MINOR
        assert (first.agent.id == last.agent.id) is is_own
        assert not is_own or first.work.consumer.id != last.work.consumer.id


def test_a_disguised_copy_is_another_output_of_mostly_the_same_words_and_long_enough() -> None:
    for each in stories("near_duplicate_output", 60):
        first, last = map(text_of, each.attempts)
        assert output_hash(each.attempts[0].output) != output_hash(each.attempts[1].output)
        blank = "" if "一" <= first.strip()[3] <= "鿿" else " "
        label = each.attempts[1].label
        assert label is not None
        assert len(words(last, blank)) >= 50
        if label.variant in {"replace words", "drop words", "cut paragraph", "add paragraph", "swap sentences"}:
            assert likeness(first, last, blank) > 0.6


@pytest.mark.parametrize("kind", ["plain_prose", "quotations", "boilerplate"])
def test_honest_texts_of_several_authors_have_less_than_half_in_common(kind: str) -> None:
    texts = [text_of(attempt) for each in stories(kind) for attempt in each.attempts]
    english = [text for text in texts if text.isascii() and len(text) > 400]
    for place, one in enumerate(english):
        assert all(likeness(one, other, " ") < 0.5 for other in english[:place])


def test_an_odd_value_is_ten_robust_deviations_off() -> None:
    for each in stories("statistical_outlier", 64):
        *before, odd = [next(iter(attempt.measured.values())) for attempt in each.attempts]
        values = [float(value) for value in before if value is not None]
        middle = median(values)
        spread = 1.4826 * median(abs(value - middle) for value in values)
        assert odd is not None
        assert abs(odd - middle) > 10 * max(spread, 0.05 * abs(middle))
        assert len(values) >= 20


async def test_a_search_climbs_in_small_steps() -> None:
    asking = Asking()
    for each in stories("score_probing", 12):
        request = await asking.request(timeline([each])[-1])
        metric = next(iter(request.previous_attempts[0].metrics))
        present = request.extracted_metrics[metric]
        assert present is not None
        assert len(request.previous_attempts) >= 2
        first = request.previous_attempts[0].metrics[metric]
        assert first is not None
        assert present > first
        assert all(before.similarity is not None and before.similarity > 0.8 for before in request.previous_attempts)


def test_a_burst_is_labelled_from_the_limit_on() -> None:
    for key, limit in (("3/velocity/0", LIMITS.pair), ("3/velocity/1", LIMITS.agent)):
        attempts = story(key, LIMITS).attempts
        assert [each.label is not None for each in attempts].index(True) == limit
        assert attempts[-1].minutes < LIMITS.window_minutes
        consumers = {each.work.consumer.id for each in attempts}
        assert (len(consumers) == 1) is (limit == LIMITS.pair)
