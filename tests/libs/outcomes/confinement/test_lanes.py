"""The queue: bounded, in order within a lane, in turn between lanes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_outcomes.confinement.lanes import Lanes


def test_each_lane_has_its_turn() -> None:
    lanes: Lanes[str] = Lanes(limit=10)
    for item in ("a1", "a2", "a3", "b1", "c1", "c2"):
        lanes.put(item[0], item)
    assert lanes.drain() == ["a1", "b1", "c1", "a2", "c2", "a3"]


def test_it_is_full_at_its_limit_and_nothing_can_be_taken_from_an_empty_one() -> None:
    lanes: Lanes[int] = Lanes(limit=1)
    fullness = [lanes.full]
    lanes.put("", 1)
    assert [*fullness, lanes.full] == [False, True]
    assert lanes.take() == 1
    with pytest.raises(KeyError):
        lanes.take()


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.booleans()), max_size=60))
def test_every_item_comes_out_once_in_its_lanes_order_unless_it_was_withdrawn(moves: list[tuple[str, bool]]) -> None:
    lanes: Lanes[tuple[str, int]] = Lanes(limit=100)
    for number, (lane, _) in enumerate(moves):
        lanes.put(lane, (lane, number))
    for number, (lane, kept) in enumerate(moves):
        if not kept:
            assert lanes.withdraw(lane, (lane, number))
            assert not lanes.withdraw(lane, (lane, number))
    kept_items = [(lane, number) for number, (lane, kept) in enumerate(moves) if kept]
    assert len(lanes) == len(kept_items)
    taken = lanes.drain()
    for lane in "abcd":
        assert [item for item in taken if item[0] == lane] == [item for item in kept_items if item[0] == lane]
    assert not lanes


@given(st.lists(st.sampled_from("abc"), max_size=40))
def test_no_lane_is_served_twice_while_another_waits(arrivals: list[str]) -> None:
    lanes: Lanes[str] = Lanes(limit=100)
    for lane in arrivals:
        lanes.put(lane, lane)
    waiting = {lane: arrivals.count(lane) for lane in arrivals}
    previous = ""
    for lane in lanes.drain():
        assert lane != previous or all(count == 0 for other, count in waiting.items() if other != lane)
        waiting[lane] -= 1
        previous = lane
