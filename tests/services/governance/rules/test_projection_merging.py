"""Merging of projections in any order and in any parts."""

import random
from collections.abc import Iterable, Sequence
from datetime import timedelta
from functools import reduce
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aex_governance.rules.histogram import Histogram, bucket_of, clamp
from aex_governance.rules.projection_documents import BandEntry, Buckets, HashEntry, LogRecord, ProfileTally, Projected
from aex_governance.rules.projection_increments import apply_increment, metric_histograms, record_increments
from aex_governance.rules.projection_merging import (
    MAX_BUCKETS,
    MAX_COPIES,
    MAX_MEMBERS,
    MAX_METRICS,
    merge_documents,
    sum_buckets,
    sum_tallies,
)
from aex_governance.text.free_text import encode_sketch, read_text
from aex_models.governance import Action
from tests.services.governance.log_records import outcome_entry, validation_entry
from tests.services.governance.requests import NOW
from tests.services.governance.rules.histories import sighting
from tests.services.governance.texts import PROSE, edited

SKETCHES = [encode_sketch(sketch) for text in (PROSE, edited(PROSE)) if (sketch := read_text(text).sketch)]
Documents = dict[tuple[type[Projected], str], Projected]


def merge_all(documents: Iterable[Projected]) -> Projected:
    return reduce(merge_documents, documents)


def bucket(value: float) -> int:
    return bucket_of(clamp(value))


def fold_records(records: Iterable[LogRecord]) -> Documents:
    documents: Documents = {}
    for record in records:
        for each in record_increments(record):
            documents[each.kind, each.key] = apply_increment(documents.get((each.kind, each.key)), each)
    return documents


@st.composite
def validations(draw: st.DrawFn, number: int) -> LogRecord:
    free = draw(st.booleans())
    metrics = draw(
        st.dictionaries(st.sampled_from(["accuracy", "stat.x", "latency_ms"]), st.floats(allow_nan=False), max_size=3)
    )
    record = validation_entry(
        number,
        draw(st.sampled_from([Action.ALLOW, Action.HOLD])),
        draw(st.sampled_from([(), ("velocity",)])),
        agent={"id": draw(st.sampled_from(["bot", "rival"]))},
        consumer={"id": draw(st.sampled_from(["acme", "globex"]))},
        extracted_metrics={name: value for name, value in metrics.items() if value - value == 0},
        received_at=NOW + timedelta(seconds=draw(st.integers(0, 3))),
    )
    return record.model_copy(update={"is_free": free, "sketch": draw(st.sampled_from(SKETCHES)) if free else None})


@st.composite
def logs(draw: st.DrawFn) -> Sequence[LogRecord]:
    size = draw(st.integers(0, 12))
    outcomes = [outcome_entry(number, draw(st.sampled_from(["passed", "failed"]))) for number in range(size // 3)]
    return [*(draw(validations(number)) for number in range(size)), *outcomes]


@settings(max_examples=30)
@given(logs(), st.randoms(use_true_random=False))
def test_projections_do_not_depend_on_the_order_of_the_log(log: Sequence[LogRecord], chance: random.Random) -> None:
    shuffled = list(log)
    chance.shuffle(shuffled)
    assert fold_records(shuffled) == fold_records(log)


@settings(max_examples=30)
@given(logs(), st.integers(0, 12))
def test_folding_in_parts_gives_equal_documents(log: Sequence[LogRecord], at: int) -> None:
    first, second = fold_records(log[:at]), fold_records(log[at:])
    both = {key: merge_documents(first[key], second[key]) for key in first if key in second}
    assert {**first, **second, **both} == fold_records(log)


@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=300),
    st.randoms(use_true_random=False),
)
def test_bounded_histograms_count_every_value_in_any_order(values: list[float], chance: random.Random) -> None:
    def one_by_one(some: Sequence[float]) -> Buckets:
        return reduce(
            lambda left, right: sum_buckets([left, right]), (Buckets(counts={bucket(value): 1}) for value in some)
        )

    shuffled = list(values)
    chance.shuffle(shuffled)
    found = one_by_one(values)
    assert found == one_by_one(shuffled) == sum_buckets([Buckets(counts={bucket(value): 1}) for value in values])
    assert sum(found.counts.values()) == len(values)
    assert len(found.counts) <= MAX_BUCKETS


def test_bounded_histogram_keeps_the_median() -> None:
    chance = random.Random(1)
    values = sorted(chance.lognormvariate(7, 1) for _ in range(5_000))
    buckets = sum_buckets([Buckets(counts={bucket(value): 1}) for value in values])
    histogram = Histogram.from_coarse(buckets.counts, buckets.level)
    assert histogram.total == 5_000
    assert histogram.values.median() == pytest.approx(values[2_500], rel=0.15)


def test_metrics_are_capped_by_name_plain_names_first() -> None:
    names = [f"stat.a{number}" for number in range(MAX_METRICS)] + ["zeal", "latency_ms"]
    chance = random.Random(1)
    found = []
    for _ in range(3):
        chance.shuffle(names)
        found.append(sum_tallies(ProfileTally(histograms=metric_histograms({name: 1.0})) for name in names).histograms)
    assert found[0] == found[1] == found[2]
    assert len(found[0]) == MAX_METRICS
    assert {"zeal", "latency_ms"} <= set(found[0])


def test_only_finite_numbers_have_a_histogram() -> None:
    assert metric_histograms({"ok": True, "lost": None, "n" * 129: 1.0, "n": 3}) == {
        "n": Buckets(counts={bucket(3): 1})
    }


@pytest.mark.parametrize(("kind", "cap"), [(HashEntry, MAX_COPIES), (BandEntry, MAX_MEMBERS)])
def test_earliest_sightings_are_retained(kind: type[HashEntry | BandEntry], cap: int) -> None:
    named: dict[str, Any] = {"output_hash": "0" * 64} if kind is HashEntry else {}
    late_to_early = [
        sighting(agent_id=f"bot_{number}", attempt_id=f"att_{number}", seen_at=NOW - timedelta(seconds=number))
        for number in range(50)
    ]
    entry = merge_all(kind(**named, sightings=(each,)) for each in late_to_early)
    assert isinstance(entry, HashEntry | BandEntry)
    assert [each.agent_id for each in entry.sightings] == [f"bot_{number}" for number in range(49, 49 - cap, -1)]


def test_band_lists_an_agent_once_and_hash_once_per_consumer() -> None:
    sightings = [sighting(attempt_id=f"att_{number}", consumer_id=f"c_{number % 2}") for number in range(6)]
    band = merge_all(BandEntry(sightings=(each,)) for each in sightings)
    copies = merge_all(HashEntry(output_hash="0" * 64, sightings=(each,)) for each in sightings)
    assert isinstance(band, BandEntry)
    assert isinstance(copies, HashEntry)
    assert [each.attempt_id for each in band.sightings] == ["att_0"]
    assert [each.attempt_id for each in copies.sightings] == ["att_0", "att_1"]


def test_documents_of_two_kinds_are_not_merged() -> None:
    with pytest.raises(TypeError):
        merge_documents(BandEntry(), HashEntry(output_hash="0" * 64))


def test_held_attempts_are_counted_without_histograms() -> None:
    documents = fold_records([validation_entry(1, Action.HOLD, ("velocity",)), validation_entry(2)])
    tallies = [document.tally for document in documents.values() if hasattr(document, "tally")]
    own = sum_tallies(tallies)
    assert own.decisions == {"hold": 2, "allow": 2}
    assert own.flags == {"velocity": 2}
    assert sum(own.histograms["rougeL"].counts.values()) == 2
