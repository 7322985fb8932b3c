"""Periods that end now divide no correction."""

from hypothesis import given
from hypothesis import strategies as st

from aex_settlement.rules.projections import next_even_micros


@given(st.integers(0, 2**53))
def test_a_period_that_ends_now_holds_now_and_ends_at_an_even_microsecond(now: int) -> None:
    end = next_even_micros(now)
    assert now < end <= now + 2
    assert end % 2 == 0
