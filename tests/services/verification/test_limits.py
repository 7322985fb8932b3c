from dataclasses import replace
from datetime import timedelta

import pytest

from aex_models.contract import AttemptStatus, Candidate
from aex_models.governance import Party
from aex_models.results import Verdict
from aex_runtime.errors import RateLimited
from aex_runtime.http.idempotency import IdempotentRequest
from aex_verification.handlers.submit_output import submit_output
from aex_verification.limits import ReplayLimit
from tests.parts.verification import NO_KEY, START, VerificationBench
from tests.services.verification.flow import GOOD, grade, opened

BURST = 300
KEYED = IdempotentRequest("test", "key", "")


async def post(bench: VerificationBench, text: str, request: IdempotentRequest = NO_KEY) -> bool:
    candidate = Candidate(output={"text": text})
    return (await submit_output(bench.deps, Party(id="bot"), "ctr_1", candidate, request))[1]


async def refused(bench: VerificationBench, text: str) -> int:
    with pytest.raises(RateLimited) as caught:
        await post(bench, text)
    assert caught.value.code == "too_many_replays"
    return caught.value.retry_after_s


async def test_repeats_are_limited_to_a_burst_and_a_rate() -> None:
    bench = VerificationBench()
    await bench.award()
    assert not await post(bench, "one")
    await bench.deliver("output.submitted")
    assert [await post(bench, "one") for _ in range(BURST)] == [True] * BURST
    assert await refused(bench, "one") == 1
    bench.clock.advance(timedelta(seconds=1))
    assert [await post(bench, "one") for _ in range(5)] == [True] * 5
    assert await refused(bench, "one") == 1
    assert bench.grader.graded == 1


async def test_new_candidates_and_repeated_requests_are_unlimited() -> None:
    bench = VerificationBench()
    await bench.award(verification={"max_attempts": 5})
    bench.rewire(replace(bench.deps, replay_limit=ReplayLimit(burst=2)))
    await post(bench, "one", KEYED)
    await bench.deliver("output.submitted")
    for _ in range(2):
        await post(bench, "one")
    await refused(bench, "one")
    assert [await post(bench, "one", KEYED) for _ in range(9)] == [False] * 9
    assert not await post(bench, "two")


def test_each_contract_has_its_own_bucket() -> None:
    limit = ReplayLimit(burst=1, max_contracts=3)
    for contract in ("a", "b", "c"):
        limit.take_tokens_or_raise(contract, START)
        with pytest.raises(RateLimited):
            limit.take_tokens_or_raise(contract, START)
    limit.take_tokens_or_raise("d", START)
    limit.take_tokens_or_raise("a", START)  # forgotten, as if it had filled up
    with pytest.raises(RateLimited):
        limit.take_tokens_or_raise("c", START)


def test_clock_set_back_changes_no_tokens() -> None:
    limit = ReplayLimit(burst=2)
    limit.take_tokens_or_raise("a", START)
    limit.take_tokens_or_raise("a", START - timedelta(hours=1))
    with pytest.raises(RateLimited):
        limit.take_tokens_or_raise("a", START - timedelta(hours=1))


async def test_candidates_after_an_invalid_output_are_limited() -> None:
    bench = await opened()
    await grade(bench, {"text": 0})
    for number in range(1, BURST // 10 + 1):
        assert (await grade(bench, {"text": number})).status is AttemptStatus.INVALID
    with pytest.raises(RateLimited):
        await submit_output(bench.deps, Party(id="bot"), "ctr_1", Candidate(output=GOOD), NO_KEY)
    bench.clock.advance(timedelta(seconds=2))
    assert (await grade(bench, GOOD)).verdict is Verdict.PASSED
