from hypothesis import given
from hypothesis import strategies as st

from aex_runtime.http.limits import TokenBuckets


def test_empty_bucket_refills() -> None:
    buckets = TokenBuckets[str](per_s=2.0, burst=3)
    assert [buckets.take("a", 0.0) for _ in range(4)] == [0.0, 0.0, 0.0, 0.5]
    assert buckets.take("a", 0.25) == 0.25
    assert buckets.take("a", 0.5) == 0.0
    assert [buckets.take("a", 100.0) for _ in range(4)] == [0.0, 0.0, 0.0, 0.5]


def test_refusal_takes_no_tokens() -> None:
    buckets = TokenBuckets[str](per_s=1.0, burst=3)
    assert buckets.take("a", 0.0, tokens=5) == 2.0
    assert buckets.take("a", 0.0, tokens=3) == 0.0


def test_clock_set_back_adds_no_tokens() -> None:
    buckets = TokenBuckets[str](per_s=1.0, burst=1)
    assert buckets.take("a", 100.0) == 0.0
    assert buckets.take("a", 0.0) == 1.0
    assert buckets.take("a", 1.0) == 0.0


def test_full_buckets_and_those_beyond_the_bound_are_forgotten() -> None:
    buckets = TokenBuckets[int](per_s=1.0, burst=2, max_keys=10)
    for key in range(100):
        buckets.take(key, 0.0)
    assert len(buckets) == 10
    for _ in range(6):
        buckets.take(99, 60.0)
    assert len(buckets) == 1


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2_000), st.sampled_from([1, 2, 5])), max_size=200))
def test_key_takes_at_most_burst_and_rate(takes: list[tuple[int, int, int]]) -> None:
    buckets, now, taken = TokenBuckets[int](per_s=2.0, burst=5), 0.0, dict.fromkeys(range(5), 0)
    for key, pause_ms, tokens in takes:
        now += pause_ms / 1000
        wait = buckets.take(key, now, tokens)
        assert 0 <= wait <= tokens / 2.0
        if not wait:
            taken[key] += tokens
        assert taken[key] <= 5 + 2.0 * now + 1e-6
