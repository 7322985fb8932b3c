from hypothesis import given
from hypothesis import strategies as st

from aex_cli.suite.supervisor import RestartPolicy, Restarts

POLICY = RestartPolicy(limit=5, window_s=60, first_pause_s=0.2, longest_pause_s=5)


def test_sixth_death_within_a_minute_is_refused() -> None:
    restarts = Restarts(POLICY, moments=(0.0, 1.0, 2.0, 3.0, 4.0))
    assert restarts.record_death(59.9) is None
    assert restarts.record_death(60.0) == Restarts(POLICY, (1.0, 2.0, 3.0, 4.0, 60.0))


def test_pauses_double_up_to_the_longest() -> None:
    pauses = [Restarts(POLICY, (0.0,) * deaths).pause_s(jitter=0.5) for deaths in range(1, 8)]
    assert pauses == [0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0]


@given(st.lists(st.floats(0, 20), max_size=60), st.floats(0, 1, exclude_max=True))
def test_no_window_holds_more_restarts_than_the_limit(gaps: list[float], jitter: float) -> None:
    restarts, now, granted = Restarts(POLICY), 0.0, []
    for gap in gaps:
        now += gap
        after = restarts.record_death(now)
        if after is not None:
            restarts = after
            granted.append(now)
            assert 0.15 <= restarts.pause_s(jitter) <= 6.25
    for first in granted:
        assert sum(first <= moment < first + POLICY.window_s for moment in granted) <= POLICY.limit
