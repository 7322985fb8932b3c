"""How far a sweep has seen its index clean."""

from datetime import timedelta

from aex_runtime.clock import epoch_micros
from aex_runtime.seen_clean import FULL_EVERY, MARGIN, SeenClean
from aex_runtime.store.port import Bound
from tests.libs.runtime.background import START, later

MOMENT = timedelta(microseconds=1)


def test_what_knows_nothing_begins_at_the_beginning() -> None:
    assert SeenClean().begun(START).bounds == ()


def test_next_look_begins_a_margin_before_this_one() -> None:
    clean = SeenClean().begun(START).reached(later(hours=1)).begun(later(seconds=1))
    assert clean.bounds == (Bound(">=", epoch_micros(START - MARGIN)),)


def test_next_look_begins_at_what_this_one_left() -> None:
    left = START - MARGIN - timedelta(hours=1)
    assert SeenClean().begun(START).reached(left).begun(START).floor == left


def test_look_that_was_not_finished_changes_nothing() -> None:
    clean = SeenClean().begun(START).reached(START)
    assert clean.begun(later(seconds=1)).begun(later(seconds=2)).floor == clean.floor
    assert SeenClean().begun(START).begun(START).floor is None


def test_full_look_comes_in_time() -> None:
    clean = SeenClean().begun(START).reached(START)
    for _ in range(3):  # however many there are between
        clean = clean.begun(START + FULL_EVERY - MOMENT).reached(START + FULL_EVERY)
        assert clean.floor is not None
    clean = clean.begun(START + FULL_EVERY)
    assert clean.floor is None
    assert clean.reached(START).begun(START + FULL_EVERY).floor == START


def test_clock_set_back_makes_a_full_look() -> None:
    clean = SeenClean().begun(START).reached(START)
    assert clean.begun(START).floor is not None
    assert clean.begun(START - MOMENT).floor is None


def test_what_is_told_of_is_within_the_next_look() -> None:
    old = START - timedelta(days=1)
    clean = SeenClean().begun(START).reached(START).told_of(later(seconds=5)).told_of(old).told_of(START)
    assert clean.begun(later(seconds=1)).floor == old


def test_what_is_told_of_during_a_look_is_within_the_next() -> None:
    old = START - timedelta(days=1)
    for began in (SeenClean(), SeenClean().begun(START).reached(START)):
        during = began.begun(later(seconds=1)).told_of(old).told_of(START).reached(later(seconds=1))
        assert during.begun(later(seconds=2)).floor == old


def test_what_was_told_of_and_is_gone_is_passed() -> None:
    clean = SeenClean().begun(START).reached(START).told_of(START - timedelta(days=1))
    assert clean.begun(later(seconds=1)).reached(later(seconds=1)).floor == later(seconds=1) - MARGIN
