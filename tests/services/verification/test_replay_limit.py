"""Candidates that are known already, posted again and again."""

from contextlib import suppress
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_models.contract import AttemptStatus, Candidate
from aex_models.governance import Party
from aex_models.results import Verdict
from aex_runtime.errors import RateLimited
from aex_runtime.http.idempotency import IdempotentRequest
from aex_verification.handlers.submit_output import submit_output
from aex_verification.replay_limit import ReplayLimit
from tests.parts.verification import NO_KEY, START, VerificationBench
from tests.services.verification.flow import GOOD, judge, opened

BURST = 300
KEYED = IdempotentRequest("test", "key", "")


async def post(bench: VerificationBench, text: str, request: IdempotentRequest = NO_KEY) -> bool:
    """Whether the candidate was known."""
    candidate = Candidate(output={"text": text})
    return (await submit_output(bench.deps, Party(id="bot"), "ctr_1", candidate, request))[1]


async def refused(bench: VerificationBench, text: str) -> int:
    with pytest.raises(RateLimited) as caught:
        await post(bench, text)
    assert caught.value.code == "too_many_replays"
    return caught.value.retry_after_s


async def test_hundreds_of_repeats_in_a_row_pass_and_then_five_each_second() -> None:
    bench = VerificationBench()
    await bench.award()
    assert not await post(bench, "one")
    await bench.deliver("output.submitted")
    assert [await post(bench, "one") for _ in range(BURST)] == [True] * BURST
    assert await refused(bench, "one") == 1
    bench.clock.advance(timedelta(seconds=1))
    assert [await post(bench, "one") for _ in range(5)] == [True] * 5
    assert await refused(bench, "one") == 1
    bench.clock.advance(timedelta(hours=1))
    assert [await post(bench, "one") for _ in range(BURST)] == [True] * BURST
    assert await refused(bench, "one") == 1


async def test_neither_new_candidates_nor_repeats_of_a_request_are_limited() -> None:
    bench = VerificationBench()
    await bench.award(verification={"max_attempts": 5})
    await post(bench, "one", KEYED)
    await bench.deliver("output.submitted")
    for _ in range(BURST):
        await post(bench, "one")
    await refused(bench, "one")
    assert [await post(bench, "one", KEYED) for _ in range(70)] == [False] * 70
    assert not await post(bench, "two")


async def test_a_candidate_that_is_posted_too_often_is_judged_once() -> None:
    bench = VerificationBench()
    await bench.award()
    await post(bench, "one")
    for _ in range(BURST):
        await post(bench, "one")
    await refused(bench, "one")
    await bench.deliver("output.submitted")
    assert bench.judge.judged == 1


def test_contracts_do_not_share_their_allowance_and_few_are_remembered() -> None:
    limit = ReplayLimit(burst=1, most=3)
    for contract in ("a", "b", "c"):
        limit.take(contract, START)
        with pytest.raises(RateLimited):
            limit.take(contract, START)
    limit.take("d", START)
    assert len(limit) == 3
    limit.take("a", START)  # forgotten, as if it had filled up
    with pytest.raises(RateLimited):
        limit.take("c", START)


def test_a_clock_that_is_set_back_gives_nothing_and_takes_nothing() -> None:
    limit = ReplayLimit(burst=2)
    limit.take("a", START)
    limit.take("a", START - timedelta(hours=1))
    with pytest.raises(RateLimited):
        limit.take("a", START - timedelta(hours=1))


@given(st.lists(st.integers(min_value=0, max_value=3_000), max_size=200))
def test_no_more_pass_than_the_burst_and_what_the_time_gave(pauses_ms: list[int]) -> None:
    limit, now, passed, asked = ReplayLimit(burst=5, per_s=2.0), START, 0, 0
    for pause in pauses_ms:
        now += timedelta(milliseconds=pause)
        asked += 1
        with suppress(RateLimited):
            limit.take("a", now)
            passed += 1
    assert passed <= 5 + 2.0 * (now - START).total_seconds() + 1e-6
    assert passed >= min(asked, 5)


async def test_after_an_invalid_output_new_candidates_are_limited_too() -> None:
    bench = await opened()
    await judge(bench, {"text": 0})
    for number in range(1, BURST // 10 + 1):
        assert (await judge(bench, {"text": number})).status is AttemptStatus.INVALID
    with pytest.raises(RateLimited):
        await submit_output(bench.deps, Party(id="bot"), "ctr_1", Candidate(output=GOOD), NO_KEY)
    bench.clock.advance(timedelta(seconds=2))
    assert (await judge(bench, GOOD)).verdict is Verdict.PASSED
