"""Merging of projections in any order and in any parts, and the sightings that are compared."""

import random
from collections.abc import Iterable, Sequence
from datetime import timedelta
from functools import reduce
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_governance.repository import TABLES
from aex_governance.rules.histogram import Histogram, bucket_of, clamp_metric
from aex_governance.rules.projection_documents import (
    BandEntry,
    Buckets,
    HashEntry,
    LogRecord,
    ProfileTally,
    Projected,
    Sighting,
)
from aex_governance.rules.projection_increments import apply_increment, build_metric_histograms, compute_increments
from aex_governance.rules.projection_merging import (
    MAX_BUCKETS,
    MAX_COMPARED,
    MAX_COPIES,
    MAX_MEMBERS,
    MAX_METRICS,
    merge_documents,
    similar_sightings,
    sum_buckets,
    sum_tallies,
)
from aex_governance.text.free_text import analyze_text, encode_sketch
from aex_models.governance import Action
from tests.services.governance.log_records import outcome_entry, validation_entry
from tests.services.governance.requests import NOW, sighting, validation_request
from tests.services.governance.texts import PROSE, edited

SKETCHES = [encode_sketch(sketch) for text in (PROSE, edited(PROSE)) if (sketch := analyze_text(text).sketch)]
Documents = dict[tuple[type[Projected], str], Projected]


def merge_all(documents: Iterable[Projected]) -> Projected:
    return reduce(merge_documents, documents)


def bucket(value: float) -> int:
    return bucket_of(clamp_metric(value))


def fold_records(records: Iterable[LogRecord]) -> Documents:
    documents: Documents = {}
    for record in records:
        for each in compute_increments(record):
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
    size = draw(st.integers(0, 8))
    outcomes = [outcome_entry(number, draw(st.sampled_from(["passed", "failed"]))) for number in range(size // 3)]
    return [*(draw(validations(number)) for number in range(size)), *outcomes]


@given(logs(), st.randoms(use_true_random=False))
def test_projections_do_not_depend_on_the_order_of_the_log(log: Sequence[LogRecord], chance: random.Random) -> None:
    shuffled = list(log)
    chance.shuffle(shuffled)
    assert fold_records(shuffled) == fold_records(log)


@given(logs(), st.integers(0, 8))
def test_folding_in_parts_gives_equal_documents(log: Sequence[LogRecord], at: int) -> None:
    first, second = fold_records(log[:at]), fold_records(log[at:])
    both = {key: merge_documents(first[key], second[key]) for key in first if key in second}
    assert {**first, **second, **both} == fold_records(log)


@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=150),
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
    values = sorted(chance.lognormvariate(7, 1) for _ in range(2_000))
    buckets = sum_buckets([Buckets(counts={bucket(value): 1}) for value in values])
    histogram = Histogram.from_merged_buckets(buckets.counts, buckets.level)
    assert histogram.total == 2_000
    assert histogram.value_distribution.median() == pytest.approx(values[1_000], rel=0.15)


def test_metrics_are_capped_by_name_plain_names_first() -> None:
    names = [f"stat.a{number}" for number in range(MAX_METRICS)] + ["zeal", "latency_ms"]
    chance = random.Random(1)
    found = []
    for _ in range(3):
        chance.shuffle(names)
        found.append(
            sum_tallies(ProfileTally(histograms=build_metric_histograms({name: 1.0})) for name in names).histograms
        )
    assert found[0] == found[1] == found[2]
    assert len(found[0]) == MAX_METRICS
    assert {"zeal", "latency_ms"} <= set(found[0])


def test_only_finite_numbers_have_a_histogram() -> None:
    assert build_metric_histograms({"ok": True, "lost": None, "n" * 129: 1.0, "n": 3}) == {
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


def other(attempt_id: str, **changes: Any) -> Sighting:
    return sighting(**{"attempt_id": attempt_id, "output_hash": "1" * 64, **changes})


def compared(*bands: list[Sighting]) -> list[str]:
    return [each.attempt_id for each in similar_sightings(validation_request(), bands)]


def test_without_a_shared_band_nothing_is_compared() -> None:
    assert compared() == []
    assert compared([]) == []


def test_copies_and_texts_of_the_same_contract_are_left_out() -> None:
    assert compared([other("att_copy", output_hash="0" * 64), other("att_same", contract_id="ctr_1")]) == []


def test_more_shared_bands_come_first() -> None:
    late, early = other("att_late", seen_at=NOW + timedelta(hours=1)), other("att_early")
    near = other("att_near", seen_at=NOW + timedelta(hours=2))
    assert compared([late, near], [early, near]) == ["att_near", "att_early", "att_late"]


def test_own_sightings_come_first() -> None:
    first = other("att_first", agent_id="bot")
    second = other("att_second", agent_id="bot", seen_at=NOW + timedelta(hours=1))
    assert compared([second, other("att_rival")], [first, second]) == ["att_first", "att_second", "att_rival"]


def test_foreign_sightings_are_limited() -> None:
    crowd = [other(f"att_{number:02}") for number in range(MAX_COMPARED + 5)]
    own = [other(f"own_{number:02}", agent_id="bot") for number in range(MAX_COMPARED + 5)]
    nearest = crowd[-MAX_COMPARED:]
    found = compared([*crowd, *own], nearest)
    assert found == [each.attempt_id for each in (*own, *nearest)]


@pytest.mark.parametrize("kind", TABLES, ids=lambda kind: kind.__name__)
def test_every_kind_of_projection_has_an_increment(kind: type[Any]) -> None:
    record = validation_entry(1).model_copy(update={"is_free": True, "sketch": SKETCHES[0]})
    assert kind in {each.kind for each in compute_increments(record)}
