"""What governance is told of an attempt: what else it says, and how near it is to the ones judged before it."""

from datetime import timedelta

import pytest

from aex_models.governance import Decision, ValidationRequest
from aex_verification.rules.policy import Policy
from tests.parts.verification import VerificationBench
from tests.services.verification.flow import judge, opened, review, status

ONE, TWO, THREE = "a b", "a c", "one more text than there was"


async def told(bench: VerificationBench) -> ValidationRequest:
    """The question that governance was asked last."""
    return bench.governance.asked[-1]


async def three_judged(bench: VerificationBench) -> None:
    """The third passes."""
    for text in (ONE, TWO, THREE):
        await judge(bench, text)


async def test_the_reasoning_and_what_the_output_says_beside_its_text_are_told() -> None:
    bench = await opened(verifier=None)
    await judge(bench, {"text": "one two three", "notes": ["by hand"]}, reasoning="I counted.")
    assert (await told(bench)).other_text == "I counted.\nby hand"


async def test_each_earlier_candidate_is_told_in_order_with_its_likeness() -> None:
    bench = await opened(verifier=None)
    await three_judged(bench)
    request = await told(bench)
    assert [each.metrics["word_count"] for each in request.previous_attempts] == [2, 2]
    first, second = (each.similarity for each in request.previous_attempts)
    assert first == pytest.approx(second, abs=0.1)
    assert first is not None
    assert 0 < first < 0.3


async def test_the_oldest_of_them_comes_first() -> None:
    bench = await opened(verifier=None)
    for text in ("a", ONE, THREE):
        await judge(bench, text)
    assert [each.metrics["word_count"] for each in (await told(bench)).previous_attempts] == [1, 2]


async def test_the_same_output_with_another_claim_is_wholly_alike() -> None:
    bench = await opened(verifier=None, verification={"max_attempts": 2})
    await judge(bench, ONE)
    await judge(bench, ONE, reasoning="again")
    assert [each.similarity for each in (await told(bench)).previous_attempts] == [1.0]


async def test_candidates_that_came_after_the_one_that_counts_are_not_among_them() -> None:
    criteria = [{"metric": "word_count", "metric_type": "count", "comparison": "gte", "threshold": n} for n in (3, 9)]
    bench = await opened(verifier=None, success_criteria={"criteria": criteria})
    for text in (ONE, "a b c", TWO):  # the second is the best
        await judge(bench, text)
    assert len((await told(bench)).previous_attempts) == 1


async def test_candidates_of_the_same_moment_keep_their_order() -> None:
    bench = await opened(verifier=None)
    before = bench.clock.now()
    await three_judged(bench)
    assert bench.clock.now() == before
    assert len((await told(bench)).previous_attempts) == 2


async def test_neither_a_failure_in_between_nor_an_operators_retry_changes_what_is_told() -> None:
    plain = await opened(verifier=None)
    await three_judged(plain)
    expected = (await told(plain)).previous_attempts
    bench = await opened(verifier=None, policy=Policy(max_system_retries=1))
    await judge(bench, ONE)
    bench.judge.failures = 2
    await judge(bench, TWO)
    await bench.pass_time(timedelta(minutes=5))
    assert await status(bench) == "held"
    await review(bench, Decision.RETRY)
    await bench.deliver("output.submitted")
    assert await status(bench) == "awaiting_revision"
    await judge(bench, THREE)
    assert (await told(bench)).previous_attempts == expected
