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
from aex_runtime.http.limits import ConcurrencyLimiter, RateBounds, RateLimits
from aex_runtime.measures import UNMEASURED, Measures
from aex_runtime.settings import RuntimeSettings
from tests.libs.runtime.http.sample import Sample, memory_backends, sample
from tests.parts.measured import Measured


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
            of.take(principal)
        except RateLimited:
            continue
        admitted += 1
    return admitted


def test_burst_is_admitted_and_then_the_rate() -> None:
    seconds = Seconds()
    of = limits(seconds)
    assert taken(of, ACME, 10) == 3
    seconds.now += 0.5
    assert taken(of, ACME, 10) == 3  # the bucket holds no more than its burst
    seconds.now += 0.1
    assert taken(of, ACME, 10) == 1


@given(st.lists(st.tuples(st.floats(0, 2), st.integers(0, 20)), max_size=30))
def test_no_schedule_gets_more_than_burst_and_rate(schedule: list[tuple[float, int]]) -> None:
    seconds = Seconds()
    of, admitted = limits(seconds), 0
    for pause, times in schedule:
        seconds.now += pause
        admitted += taken(of, ACME, times)
        assert admitted <= 3 + (seconds.now - 1_000) * 10 + 1e-6


def test_refusal_has_retry_after() -> None:
    of = limits(Seconds(), per_s=0.25, burst=1)
    of.take(ACME)
    with pytest.raises(RateLimited) as refused:
        of.take(ACME)
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
    seconds, measured = Seconds(), Measured()
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
    assert 'aex_rate_limited_requests_total{service="work-publisher"} 3.0' in metrics


async def test_tokens_of_a_principal_share_a_bucket_and_bodies_stay_unread(tmp_path: Path) -> None:
    made = limited(tmp_path, rate_limit_per_s=0.01, rate_limit_burst=5)
    statuses = []
    for _ in range(8):
        async with made.client() as client:
            statuses.append((await client.get("/v1/notes")).status_code)
    assert (statuses.count(200), statuses.count(429)) == (5, 3)
    async with made.client() as client:
        broken = await client.post("/v1/notes", content=b"{", headers={"Content-Type": "application/json"})
    assert broken.status_code == 429


async def test_unauthenticated_requests_use_no_bucket(tmp_path: Path) -> None:
    made = limited(tmp_path, rate_limit_per_s=0.01, rate_limit_burst=1)
    async with made.client(role=None) as client:
        for number in range(5):
            answer = await client.get("/v1/notes", headers={"Authorization": f"Bearer x.{number}.z"})
            assert answer.status_code == 401
    assert len(made.app.state.rate_limits) == 0


async def test_guarded_operations_document_429(tmp_path: Path) -> None:
    document = sample(tmp_path).app.openapi()
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            assert ("429" in operation["responses"]) == ("security" in operation), (method, path)


def test_invalid_rate_limits_are_named() -> None:
    with pytest.raises(ValueError, match="rate_limit_burst"):
        RuntimeSettings(rate_limit_burst=0)
    with pytest.raises(ValueError, match="rate_limit_per_s"):
        RuntimeSettings(rate_limit_per_s=-math.inf)
