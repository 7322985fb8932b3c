import asyncio
import math
from pathlib import Path

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from aex_models.audiences import Audience
from aex_runtime.errors import RateLimited, TemporarilyUnavailable
from aex_runtime.http.auth import Principal
from aex_runtime.http.limits import ConcurrencyLimiter, RateBounds, RateLimits, TokenBuckets
from aex_runtime.measures import UNMEASURED, Measures
from aex_runtime.settings import RuntimeSettings
from tests.libs.runtime.http.sample import Sample, memory_backends, sample
from tests.parts.measured import RecordedMeasures


def test_limits_per_caller_and_total() -> None:
    limiter = ConcurrencyLimiter(1, 2, "exports", "exports_busy")
    with limiter.acquire("a"):
        with pytest.raises(RateLimited, match="at most 1 of your exports run at once") as refused, limiter.acquire("a"):
            pass
        with limiter.acquire("b"):
            with (
                pytest.raises(TemporarilyUnavailable, match="already runs its maximum of 2 exports; retry after 1 s"),
                limiter.acquire("c"),
            ):
                pass
            assert limiter.in_use == 2
    assert refused.value.code == "too_many_exports"
    assert limiter.in_use == 0


def test_failing_operation_releases_its_slot() -> None:
    limiter = ConcurrencyLimiter(1, 1, "exports", "exports_busy")
    with pytest.raises(RuntimeError), limiter.acquire("a"):
        raise RuntimeError
    with limiter.acquire("a"):
        assert limiter.in_use == 1


def test_reserved_slots_are_for_preferred_callers() -> None:
    limiter = ConcurrencyLimiter(2, 3, "exports", "exports_busy", reserved=1)
    with limiter.acquire("a"), limiter.acquire("b"):
        with pytest.raises(TemporarilyUnavailable), limiter.acquire("c"):
            pass
        with limiter.acquire("finance", preferred=True):
            assert limiter.in_use == 3
            with pytest.raises(TemporarilyUnavailable), limiter.acquire("finance", preferred=True):
                pass


def test_empty_bucket_refills() -> None:
    buckets = TokenBuckets[str](per_s=2.0, burst=3)
    assert [buckets.take_or_get_wait_s("a", 0.0) for _ in range(4)] == [0.0, 0.0, 0.0, 0.5]
    assert buckets.take_or_get_wait_s("a", 0.25) == 0.25
    assert buckets.take_or_get_wait_s("a", 0.5) == 0.0
    assert [buckets.take_or_get_wait_s("a", 100.0) for _ in range(4)] == [0.0, 0.0, 0.0, 0.5]
    assert buckets.take_or_get_wait_s("a", 0.0) == 0.5  # the clock was set back
    assert buckets.take_or_get_wait_s("a", 0.5) == 0.0


def test_refusal_takes_no_tokens() -> None:
    buckets = TokenBuckets[str](per_s=1.0, burst=3)
    assert buckets.take_or_get_wait_s("a", 0.0, tokens=5) == 2.0
    assert buckets.take_or_get_wait_s("a", 0.0, tokens=3) == 0.0


def test_full_buckets_and_those_beyond_the_bound_are_forgotten() -> None:
    buckets = TokenBuckets[int](per_s=1.0, burst=2, max_keys=10)
    for key in range(100):
        buckets.take_or_get_wait_s(key, 0.0)
    assert len(buckets) == 10
    for _ in range(6):
        buckets.take_or_get_wait_s(99, 60.0)
    assert len(buckets) == 1


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2_000), st.sampled_from([1, 2, 5])), max_size=200))
def test_key_takes_at_most_burst_and_rate(takes: list[tuple[int, int, int]]) -> None:
    buckets, now, taken = TokenBuckets[int](per_s=2.0, burst=5), 0.0, dict.fromkeys(range(5), 0)
    for key, pause_ms, tokens in takes:
        now += pause_ms / 1000
        wait = buckets.take_or_get_wait_s(key, now, tokens)
        assert 0 <= wait <= tokens / 2.0
        if not wait:
            taken[key] += tokens
        assert taken[key] <= 5 + 2.0 * now + 1e-6


ACME = Principal("acme", Audience.CONSUMER, issuer="https://issuer")


class Seconds:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def limits(
    seconds: Seconds, per_s: float = 10, burst: int = 3, most: int = 10_000, measures: Measures = UNMEASURED
) -> RateLimits:
    return RateLimits(RateBounds(per_s, burst), seconds, most, measures)


def taken(of: RateLimits, principal: Principal, times: int) -> int:
    admitted = 0
    for _ in range(times):
        try:
            of.count_request_or_raise(principal)
        except RateLimited:
            continue
        admitted += 1
    return admitted


def test_refusal_has_retry_after() -> None:
    of = limits(Seconds(), per_s=0.25, burst=1)
    of.count_request_or_raise(ACME)
    with pytest.raises(RateLimited) as refused:
        of.count_request_or_raise(ACME)
    assert (refused.value.code, refused.value.retry_after_s) == ("rate_limited", 4)


@pytest.mark.parametrize(
    "other",
    [
        Principal("globex", Audience.CONSUMER, issuer="https://issuer"),
        Principal("acme", Audience.AGENT, issuer="https://issuer"),
        Principal("acme", Audience.CONSUMER, issuer="https://other"),
    ],
)
def test_principals_have_separate_buckets(other: Principal) -> None:
    of = limits(Seconds())
    assert taken(of, ACME, 50) == 3
    assert taken(of, other, 3) == 3


def test_services_and_a_rate_of_zero_are_not_limited() -> None:
    assert taken(limits(Seconds()), Principal("service:verification", Audience.SERVICE), 100) == 100
    assert taken(limits(Seconds(), per_s=0), ACME, 100) == 100


def test_refusals_are_counted_and_logged_once_a_minute() -> None:
    seconds, measured = Seconds(), RecordedMeasures()
    of = limits(seconds, measures=measured)
    with capture_logs() as logs:
        taken(of, ACME, 100)
        seconds.now += 61
        taken(of, ACME, 100)
    assert [(each["event"], each["principal"], each["role"]) for each in logs] == [
        ("rate_limited", "acme", "consumer")
    ] * 2
    assert measured.counted["aex_rate_limited_requests_total",] == 194


def limited(tmp_path: Path, **settings: float) -> Sample:
    backends = memory_backends()
    return sample(tmp_path, backends, settings=RuntimeSettings.model_validate({"data_dir": tmp_path, **settings}))


async def ask(client: httpx.AsyncClient, times: int) -> list[httpx.Response]:
    return list(await asyncio.gather(*(client.get("/v1/notes") for _ in range(times))))


async def test_rate_limited_response_is_a_problem_with_retry_after(tmp_path: Path) -> None:
    made = limited(tmp_path, rate_limit_per_s=0.01, rate_limit_burst=5)
    async with made.client() as client, made.client(sub="globex") as another, made.client(role=None) as anonymous:
        answers = await ask(client, 8)
        refused = [answer for answer in answers if answer.status_code == 429]
        assert (len(refused), refused[0].json()["code"]) == (3, "rate_limited")
        assert refused[0].headers["content-type"] == "application/problem+json"
        assert 90 < int(refused[0].headers["retry-after"]) <= 100
        assert {answer.status_code for answer in await ask(another, 5)} == {200}
        assert (await anonymous.get("/healthz")).status_code == 200
        metrics = (await anonymous.get("/metrics")).text
    async with made.client() as with_another_token:
        unread = await with_another_token.post("/v1/notes", content=b"{", headers={"Content-Type": "application/json"})
    assert unread.status_code == 429
    assert 'aex_rate_limited_requests_total{service="work-publisher"} 3.0' in metrics


async def test_unauthenticated_requests_use_no_bucket(tmp_path: Path) -> None:
    made = limited(tmp_path, rate_limit_per_s=0.01, rate_limit_burst=1)
    async with made.client(role=None) as client:
        for number in range(5):
            answer = await client.get("/v1/notes", headers={"Authorization": f"Bearer x.{number}.z"})
            assert answer.status_code == 401
    assert len(made.app.state.rate_limits) == 0


def test_invalid_rate_limits_are_named() -> None:
    with pytest.raises(ValueError, match="rate_limit_burst"):
        RuntimeSettings(rate_limit_burst=0)
    with pytest.raises(ValueError, match="rate_limit_per_s"):
        RuntimeSettings(rate_limit_per_s=-math.inf)
