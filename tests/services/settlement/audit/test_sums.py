"""Sums held against each other in bounded memory, and what an audit remembers of what it met."""

import secrets

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_settlement.rules.audit.hashes import Met
from aex_settlement.rules.audit.tally import Name, Tally

names = st.tuples(st.sampled_from(["balance", "day"]), st.text(max_size=3), st.none() | st.integers(0, 40))
sums = st.tuples(*[st.integers(-(2**70), 2**70)] * 3)
parts = st.lists(st.tuples(names, sums), max_size=60)
HELD = pytest.mark.parametrize("held", [1, 7, 1000])


def a_tally(held: int, chosen: frozenset[int] | None = None, key: bytes = b"k") -> Tally:
    return Tally(key, held, chosen)


def added_up(entries: list[tuple[Name, tuple[int, ...]]]) -> dict[Name, tuple[int, ...]]:
    """The same sums, the plain way."""
    total: dict[Name, tuple[int, ...]] = {}
    for name, values in entries:
        total[name] = tuple(a + b for a, b in zip(total.get(name, (0, 0, 0)), values, strict=True))
    return total


@HELD
@given(entries=parts)
def test_the_same_sums_in_another_order_and_grouping_leave_nothing(
    held: int, entries: list[tuple[Name, tuple[int, ...]]]
) -> None:
    tally = a_tally(held)
    for name, values in entries:
        tally.add(name, values)
    for name, values in reversed(added_up(entries).items()):
        tally.add(name, values, -1)
    assert not tally.difference()


@HELD
@given(entries=parts.filter(bool), off=st.integers(1, 2**62), at=st.integers(0, 2))
def test_one_sum_that_is_off_is_found_and_named(
    held: int, entries: list[tuple[Name, tuple[int, ...]]], off: int, at: int
) -> None:
    stored = added_up(entries)
    wrong = next(iter(stored))
    stored[wrong] = tuple(value + off * (place == at) for place, value in enumerate(stored[wrong]))

    def tallied(chosen: frozenset[int] | None) -> Tally:
        tally = a_tally(held, chosen)
        for name, values in entries:
            tally.add(name, values)
        for name, values in stored.items():
            tally.add(name, values, -1)
        return tally

    difference = tallied(None).difference()
    assert difference
    if difference.buckets:
        difference = tallied(difference.buckets).difference()
    assert difference.names == {wrong: tuple(-off * (place == at) for place in range(3))}


def test_a_copy_goes_on_by_itself() -> None:
    tally = a_tally(1)
    for number in range(5):
        tally.add(("balance", number), (number,))
    copy = tally.copy()
    for number in range(5):
        copy.add(("balance", number), (number,), -1)
    assert tally.difference()
    assert not copy.difference()


def test_what_cancels_out_under_one_key_does_not_under_another() -> None:
    """Sums that are off by opposite amounts are two differences, not none."""
    for _ in range(50):
        tally = a_tally(0, key=secrets.token_bytes(16))
        tally.add(("balance", "one"), (5,))
        tally.add(("balance", "other"), (-5,))
        assert tally.difference()


@given(texts=st.lists(st.text(), max_size=40), other=st.text())
def test_what_was_met_is_known_and_nothing_else(texts: list[str], other: str) -> None:
    met = Met(b"k")
    for text in texts:
        met.add(text)
    assert all(text in met for text in texts)
    assert (other in met) == (other in texts)
    assert met.count == len(texts)
    repeated = met.repeated()
    assert {text for text in texts if met.is_among(text, repeated)} == {t for t in texts if texts.count(t) > 1}


def test_a_text_takes_eight_bytes() -> None:
    met = Met(b"k")
    for number in range(20_000):
        met.add(f"txn_{number}")
    assert sum(bucket.itemsize * len(bucket) for bucket in met._buckets) == 20_000 * 8
