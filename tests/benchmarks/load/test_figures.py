"""The arithmetic of the load's tables, by hand."""

import math

import pytest

from tests.benchmarks.load.driven import Driven
from tests.benchmarks.load.figures import Figures, percentile, rate
from tests.benchmarks.load.processor import Moment, Spent
from tests.benchmarks.load.runs import Loaded
from tests.benchmarks.load.table import Row, processor_table, speed_table


def one(number: int, begun: float, settled: float | None, **further: object) -> Driven:
    """A contract whose candidate was posted 0.5 s after it was begun."""
    found = Driven(number, begun, f"ctr_{number}", work_s=0.01 * number, posted=begun + 0.5, settled=settled)
    found.verdicts_s = [0.2]
    for name, value in further.items():
        setattr(found, name, value)
    return found


TEN = [one(number, 100.0 + number, 101.0 + number + 0.1 * number) for number in range(10)]
"""Begun a second apart, settled ever later."""


def test_a_percentile_is_the_smallest_value_that_so_many_do_not_exceed() -> None:
    hundred = [float(value) for value in range(100, 0, -1)]
    assert [percentile(hundred, share) for share in (0.50, 0.95, 0.99, 1.0)] == [50.0, 95.0, 99.0, 100.0]
    assert [percentile([7.0], share) for share in (0.5, 0.99)] == [7.0, 7.0]
    assert math.isnan(percentile([], 0.5))


def test_the_rate_counts_what_was_settled_between_the_first_that_counts_and_the_last_that_was_begun() -> None:
    assert rate(TEN, 102.0, 109.0) == pytest.approx(7 / 7.0)  # at 102.1 to 108.7; those at 109.8 and 110.9 are later
    assert rate([*TEN, one(10, 103.0, None)], 102.0, 109.0) == pytest.approx(7 / 7.0)
    assert math.isnan(rate(TEN, 102.0, 102.0))


def test_the_first_fifth_is_left_out_of_times_and_kept_in_counts() -> None:
    slow_start = [one(0, 100.0, 190.0, work_s=50.0, verdicts_s=[60.0]), *TEN[1:]]
    found = Figures.of(list(reversed(slow_start)))
    assert (found.work.p50, found.work.p95, found.work.p99) == pytest.approx((50.0, 90.0, 90.0))
    assert (found.verdict.p50, found.verdict.p99) == pytest.approx((200.0, 200.0))
    assert found.settled.p99 == pytest.approx(1_400.0)  # 110.9 less 109.5
    assert (found.accepted, found.ended, found.errors, found.asked_again) == (10, 10, 0, 0)
    assert found.per_s == pytest.approx(1.0)


def test_what_was_not_settled_not_even_accepted_or_asked_twice_is_counted() -> None:
    lost = one(10, 110.0, None, error="not settled within 90 s")
    refused = Driven(11, 111.0, error="POST /v1/work: 400", asked_again=["POST /v1/work: 503 store_unavailable"])
    found = Figures.of([*TEN, lost, refused])
    assert (found.accepted, found.ended, found.errors, found.asked_again) == (11, 10, 2, 1)


def test_a_contract_is_written_and_read_as_it_was() -> None:
    found = one(3, 100.25, 101.5, error="late", asked_again=["POST /v1/work: 503 None"])
    assert Driven.of(found.line()) == found
    assert Driven.of(Driven(1, 2.0).line()) == Driven(1, 2.0)


def test_of_several_rounds_the_table_has_medians_and_sums_and_the_rate_beside_one_replica() -> None:
    def loaded(seconds: float) -> Loaded:
        spent = Spent({"settlement": seconds}, machine=2 * seconds, clock=4 * seconds)
        driven = [one(number, seconds * number, seconds * number + seconds) for number in range(10)]
        return Loaded(None, Figures.of(driven), spent, tuple(driven))

    alone = Row("embedded", 1, (loaded(1.0), loaded(4.0), loaded(2.0)), "24 at once")
    both = Row("embedded", 2, (loaded(1.0),), "24 at once")
    _, _, first, second = speed_table([alone, both]).splitlines()
    # Settled as the next is begun: of the eight that count one is late. 7 in 14 s (the median round), 7 in 7 s.
    assert first.split()[:6] == ["embedded", "1", "24", "at", "once", "0.5"]
    assert first.split()[-5:] == ["30", "30", "0", "0", "1.00"]
    assert second.split()[-5:] == ["10", "10", "0", "0", "2.00"]
    _, first, second = processor_table([alone, both]).splitlines()
    assert first.split()[-4:] == ["233.3", "233.3", "25%", "25%"]  # 7 s for 30 contracts
    assert second.split()[-4:] == ["100.0", "100.0", "25%", "25%"]


def test_processor_time_is_what_was_spent_in_between() -> None:
    begin = Moment({"settlement": 5.0, "its workers": 9.0}, machine=100.0, clock=1_000.0)
    end = Moment({"settlement": 7.0, "its workers": 8.0}, machine=104.0, clock=1_010.0)  # a worker was replaced
    spent = Spent.between(begin, end)
    assert spent.ours == {"settlement": 2.0, "its workers": 0.0}
    assert [spent.our_share, spent.their_share] == pytest.approx([0.2, 0.2])
