import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_outcomes.confinement.fair_queue import FairQueue


def test_each_queue_has_its_turn() -> None:
    fair_queue: FairQueue[str] = FairQueue(limit=10)
    for item in ("a1", "a2", "a3", "b1", "c1", "c2"):
        fair_queue.put(item[0], item)
    assert fair_queue.drain() == ["a1", "b1", "c1", "a2", "c2", "a3"]


def test_it_is_full_at_its_limit_and_nothing_can_be_taken_from_an_empty_one() -> None:
    fair_queue: FairQueue[int] = FairQueue(limit=1)
    fullness = [fair_queue.is_full]
    fair_queue.put("", 1)
    assert [*fullness, fair_queue.is_full] == [False, True]
    assert fair_queue.take_next() == 1
    with pytest.raises(KeyError):
        fair_queue.take_next()


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.booleans()), max_size=60))
def test_every_item_comes_out_once_in_its_queues_order_unless_it_was_withdrawn(moves: list[tuple[str, bool]]) -> None:
    fair_queue: FairQueue[tuple[str, int]] = FairQueue(limit=100)
    for number, (queue, _) in enumerate(moves):
        fair_queue.put(queue, (queue, number))
    for number, (queue, kept) in enumerate(moves):
        if not kept:
            assert fair_queue.remove_if_waiting(queue, (queue, number))
            assert not fair_queue.remove_if_waiting(queue, (queue, number))
    kept_items = [(queue, number) for number, (queue, kept) in enumerate(moves) if kept]
    assert len(fair_queue) == len(kept_items)
    taken = fair_queue.drain()
    for queue in "abcd":
        assert [item for item in taken if item[0] == queue] == [item for item in kept_items if item[0] == queue]
    assert not fair_queue


@given(st.lists(st.sampled_from("abc"), max_size=40))
def test_no_queue_is_served_twice_while_another_waits(arrivals: list[str]) -> None:
    fair_queue: FairQueue[str] = FairQueue(limit=100)
    for queue in arrivals:
        fair_queue.put(queue, queue)
    waiting = {queue: arrivals.count(queue) for queue in arrivals}
    previous = ""
    for queue in fair_queue.drain():
        assert queue != previous or all(count == 0 for other, count in waiting.items() if other != queue)
        waiting[queue] -= 1
        previous = queue


def test_queue_that_may_not_be_served_keeps_its_turn() -> None:
    fair_queue: FairQueue[str] = FairQueue(limit=10)
    for item in ("a1", "a2", "b1", "b2", "c1"):
        fair_queue.put(item[0], item)
    assert fair_queue.take_next(lambda queue: queue != "a") == "b1"
    assert fair_queue.drain() == ["a1", "c1", "b2", "a2"]
    with pytest.raises(KeyError):
        fair_queue.take_next(lambda queue: queue == "d")


def test_newest_of_the_longest_queue_gives_way_to_shorter_ones() -> None:
    fair_queue: FairQueue[str] = FairQueue(limit=4)
    assert (fair_queue.has_space_by_displacing("a"), fair_queue.remove_newest_of_longest_if_full()) == (True, None)
    for item in ("a1", "a2", "a3", "b1"):
        assert fair_queue.has_space_by_displacing(item[0])
        fair_queue.put(item[0], item)
    assert [fair_queue.has_space_by_displacing(queue) for queue in "abc"] == [False, True, True]
    assert fair_queue.remove_newest_of_longest_if_full() == "a3"
    fair_queue.put("c", "c1")
    assert [fair_queue.has_space_by_displacing(queue) for queue in "abcd"] == [False, False, False, True]
    assert fair_queue.drain() == ["a1", "b1", "c1", "a2"]


def test_queue_without_space_admits_nothing() -> None:
    fair_queue: FairQueue[str] = FairQueue(limit=0)
    assert (fair_queue.has_space_by_displacing("a"), fair_queue.remove_newest_of_longest_if_full()) == (False, None)
