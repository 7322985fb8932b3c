from datetime import timedelta

from aex_runtime.clock import epoch_micros
from aex_runtime.low_watermark import FULL_SCAN_INTERVAL, MARGIN, LowWatermark
from aex_runtime.store.port import Bound
from tests.libs.runtime.background import START, later

MOMENT = timedelta(microseconds=1)


def test_next_query_begins_a_margin_before_this_one() -> None:
    assert LowWatermark().start(START).bounds == ()
    clean = LowWatermark().start(START).advance(later(hours=1)).start(later(seconds=1))
    assert clean.bounds == (Bound(">=", epoch_micros(START - MARGIN)),)


def test_next_query_begins_at_the_remaining_row() -> None:
    left = START - MARGIN - timedelta(hours=1)
    assert LowWatermark().start(START).advance(left).start(START).watermark == left


def test_unfinished_query_changes_nothing() -> None:
    clean = LowWatermark().start(START).advance(START)
    assert clean.start(later(seconds=1)).start(later(seconds=2)).watermark == clean.watermark
    assert LowWatermark().start(START).start(START).watermark is None


def test_full_scan_follows_after_its_interval() -> None:
    clean = LowWatermark().start(START).advance(START)
    for _ in range(3):
        clean = clean.start(START + FULL_SCAN_INTERVAL - MOMENT).advance(START + FULL_SCAN_INTERVAL)
        assert clean.watermark is not None
    clean = clean.start(START + FULL_SCAN_INTERVAL)
    assert clean.watermark is None
    assert clean.advance(START).start(START + FULL_SCAN_INTERVAL).watermark == START


def test_clock_set_back_causes_a_full_scan() -> None:
    clean = LowWatermark().start(START).advance(START)
    assert clean.start(START).watermark is not None
    assert clean.start(START - MOMENT).watermark is None


def test_noted_write_is_within_the_next_scan() -> None:
    old = START - timedelta(days=1)
    clean = LowWatermark().start(START).advance(START).note_write(later(seconds=5)).note_write(old).note_write(START)
    assert clean.start(later(seconds=1)).watermark == old


def test_write_during_a_scan_is_within_the_next() -> None:
    old = START - timedelta(days=1)
    for began in (LowWatermark(), LowWatermark().start(START).advance(START)):
        during = began.start(later(seconds=1)).note_write(old).note_write(START).advance(later(seconds=1))
        assert during.start(later(seconds=2)).watermark == old


def test_watermark_passes_deleted_writes() -> None:
    clean = LowWatermark().start(START).advance(START).note_write(START - timedelta(days=1))
    assert clean.start(later(seconds=1)).advance(later(seconds=1)).watermark == later(seconds=1) - MARGIN
