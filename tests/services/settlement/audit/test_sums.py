"""Sums in bounded memory, and the compact set of ids."""

import secrets

from hypothesis import given
from hypothesis import strategies as st

from aex_settlement.rules.audit_findings import CompactHashSet
from aex_settlement.rules.audit_projections import BucketSums, Name, NamedSums

names = st.tuples(st.sampled_from(["balance", "day"]), st.text(max_size=3), st.none() | st.integers(0, 40))
sums = st.tuples(*[st.integers(-(2**70), 2**70)] * 3)
parts = st.lists(st.tuples(names, sums), max_size=60)
Entries = list[tuple[Name, tuple[int, ...]]]


def add_all(total: BucketSums | NamedSums, entries: Entries, stored: dict[Name, tuple[int, ...]]) -> None:
    for name, values in entries:
        total.add(name, values)
    for name, values in reversed(stored.items()):
        total.add(name, values, -1)


def plain_sums(entries: Entries) -> dict[Name, tuple[int, ...]]:
    total: dict[Name, tuple[int, ...]] = {}
    for name, values in entries:
        total[name] = tuple(a + b for a, b in zip(total.get(name, (0, 0, 0)), values, strict=True))
    return total


@given(entries=parts)
def test_equal_sums_in_another_order_and_grouping_leave_nothing(entries: Entries) -> None:
    total = BucketSums(b"k")
    add_all(total, entries, plain_sums(entries))
    assert total.find_nonzero_buckets() == []


@given(entries=parts.filter(bool), off=st.integers(1, 2**62), index=st.integers(0, 2))
def test_one_wrong_sum_is_found_and_named(entries: Entries, off: int, index: int) -> None:
    stored = plain_sums(entries)
    wrong = next(iter(stored))
    stored[wrong] = tuple(value + off * (number == index) for number, value in enumerate(stored[wrong]))
    total = BucketSums(b"k")
    add_all(total, entries, stored)
    buckets = total.find_nonzero_buckets()
    assert len(buckets) == 1
    named = NamedSums(b"k", buckets)
    add_all(named, entries, stored)
    assert named.nonzero_sums() == {wrong: tuple(-off * (number == index) for number in range(3))}


def test_more_names_than_are_pending_leave_nothing() -> None:
    total = BucketSums(b"k")
    entries: Entries = [(("balance", number), (number,)) for number in range(25_000)]
    add_all(total, entries, dict(entries))
    assert total.find_nonzero_buckets() == []
    total.add(("balance", 7), (1,))
    assert len(total.find_nonzero_buckets()) == 1


def test_opposite_differences_do_not_cancel_out() -> None:
    for _ in range(50):
        total = BucketSums(secrets.token_bytes(16))
        total.add(("balance", "one"), (5,))
        total.add(("balance", "other"), (-5,))
        assert total.find_nonzero_buckets()


@given(texts=st.lists(st.text(), max_size=40), other=st.text())
def test_hash_set_contains_its_texts_and_names_the_repeated_ones(texts: list[str], other: str) -> None:
    found = CompactHashSet(b"k")
    for text in texts:
        found.add(text)
    assert all(text in found for text in texts)
    assert (other in found) == (other in texts)
    assert found.count == len(texts)
    repeated = found.find_repeated_hashes()
    assert {text for text in texts if found.has_hash_in(text, repeated)} == {t for t in texts if texts.count(t) > 1}


def test_a_text_takes_eight_bytes() -> None:
    found = CompactHashSet(b"k")
    for number in range(20_000):
        found.add(f"txn_{number}")
    assert sum(bucket.itemsize * len(bucket) for bucket in found._buckets) == 20_000 * 8
