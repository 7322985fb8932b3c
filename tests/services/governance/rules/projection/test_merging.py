"""Projections come out the same in whatever order, and in however many parts, records are folded into them."""

import random
from collections.abc import Iterable, Sequence
from datetime import timedelta
from functools import reduce
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aex_governance.rules.histogram import Histogram
from aex_governance.rules.projection.documents import BandEntry, Buckets, HashEntry, Projected, Tally
from aex_governance.rules.projection.increments import apply, increments
from aex_governance.rules.projection.measures import MAX_BUCKETS, MAX_METRICS, added, measured, place_of
from aex_governance.rules.projection.merging import MAX_COPIES, MAX_MEMBERS, merged, summed
from aex_governance.rules.projection.records import LogRecord
from aex_governance.rules.sketch import encoded
from aex_governance.rules.text import read_text
from aex_models.governance import Action
from tests.services.governance.asking import NOW
from tests.services.governance.logbook import ended, validated
from tests.services.governance.rules.sightings import seen
from tests.services.governance.texts import PROSE, edited

SKETCHES = [encoded(sketch) for text in (PROSE, edited(PROSE)) if (sketch := read_text(text).sketch)]
Documents = dict[tuple[type[Projected], str], Projected]


def together(documents: Iterable[Projected]) -> Projected:
    return reduce(merged, documents)


def folded(records: Iterable[LogRecord]) -> Documents:
    documents: Documents = {}
    for record in records:
        for each in increments(record):
            documents[each.kind, each.place] = apply(documents.get((each.kind, each.place)), each)
    return documents


@st.composite
def validations(draw: st.DrawFn, number: int) -> LogRecord:
    free = draw(st.booleans())
    metrics = draw(
        st.dictionaries(st.sampled_from(["accuracy", "stat.x", "latency_ms"]), st.floats(allow_nan=False), max_size=3)
    )
    record = validated(
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
    outcomes = [ended(number, draw(st.sampled_from(["passed", "failed"]))) for number in range(size // 3)]
    return [*(draw(validations(number)) for number in range(size)), *outcomes]


@settings(max_examples=30)
@given(logs(), st.randoms(use_true_random=False))
def test_the_order_of_the_log_does_not_matter(log: Sequence[LogRecord], chance: random.Random) -> None:
    shuffled = list(log)
    chance.shuffle(shuffled)
    assert folded(shuffled) == folded(log)


@settings(max_examples=30)
@given(logs(), st.integers(0, 12))
def test_parts_folded_by_themselves_make_the_same_whole(log: Sequence[LogRecord], at: int) -> None:
    first, second = folded(log[:at]), folded(log[at:])
    both = {place: merged(first[place], second[place]) for place in first if place in second}
    assert {**first, **second, **both} == folded(log)


@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=300),
    st.randoms(use_true_random=False),
)
def test_histograms_keep_every_value_in_few_buckets_whatever_comes_first(
    values: list[float], chance: random.Random
) -> None:
    def one_by_one(some: Sequence[float]) -> Buckets:
        return reduce(
            lambda left, right: added([left, right]), (Buckets(counts={place_of(value): 1}) for value in some)
        )

    shuffled = list(values)
    chance.shuffle(shuffled)
    found = one_by_one(values)
    assert found == one_by_one(shuffled) == added([Buckets(counts={place_of(value): 1}) for value in values])
    assert sum(found.counts.values()) == len(values)
    assert len(found.counts) <= MAX_BUCKETS


def test_a_histogram_of_few_buckets_still_tells_median_and_spread() -> None:
    chance = random.Random(1)
    values = sorted(chance.lognormvariate(7, 1) for _ in range(5_000))
    buckets = added([Buckets(counts={place_of(value): 1}) for value in values])
    histogram = Histogram.of_coarse(buckets.counts, buckets.level)
    assert histogram.total == 5_000
    assert histogram.median_value() == pytest.approx(values[2_500], rel=0.15)


def test_names_beyond_the_cap_fall_out_by_name_and_plain_ones_come_first() -> None:
    names = [f"stat.a{number}" for number in range(MAX_METRICS)] + ["zeal", "latency_ms"]
    chance = random.Random(1)
    found = []
    for _ in range(3):
        chance.shuffle(names)
        found.append(summed(Tally(histograms=measured({name: 1.0})) for name in names).histograms)
    assert found[0] == found[1] == found[2]
    assert len(found[0]) == MAX_METRICS
    assert {"zeal", "latency_ms"} <= set(found[0])


def test_what_is_no_finite_number_has_no_histogram() -> None:
    assert measured({"ok": True, "lost": None, "n" * 129: 1.0, "kept": 3}) == {"kept": Buckets(counts={place_of(3): 1})}


@pytest.mark.parametrize(("kind", "cap"), [(HashEntry, MAX_COPIES), (BandEntry, MAX_MEMBERS)])
def test_of_many_sightings_the_earliest_are_kept(kind: type[HashEntry | BandEntry], cap: int) -> None:
    named: dict[str, Any] = {"output_hash": "0" * 64} if kind is HashEntry else {}
    late_to_early = [
        seen(agent_id=f"bot_{number}", attempt_id=f"att_{number}", seen_at=NOW - timedelta(seconds=number))
        for number in range(50)
    ]
    entry = together(kind(**named, sightings=(each,)) for each in late_to_early)
    assert isinstance(entry, HashEntry | BandEntry)
    assert [each.agent_id for each in entry.sightings] == [f"bot_{number}" for number in range(49, 49 - cap, -1)]


def test_an_agent_is_in_a_band_once_and_under_a_hash_once_for_each_consumer() -> None:
    again = [seen(attempt_id=f"att_{number}", consumer_id=f"c_{number % 2}") for number in range(6)]
    band = together(BandEntry(sightings=(each,)) for each in again)
    copies = together(HashEntry(output_hash="0" * 64, sightings=(each,)) for each in again)
    assert isinstance(band, BandEntry)
    assert isinstance(copies, HashEntry)
    assert [each.attempt_id for each in band.sightings] == ["att_0"]
    assert [each.attempt_id for each in copies.sightings] == ["att_0", "att_1"]


def test_documents_of_two_kinds_are_never_merged() -> None:
    with pytest.raises(TypeError):
        merged(BandEntry(), HashEntry(output_hash="0" * 64))


def test_what_was_held_teaches_no_histogram_but_counts() -> None:
    documents = folded([validated(1, Action.HOLD, ("velocity",)), validated(2)])
    tallies = [document.tally for document in documents.values() if hasattr(document, "tally")]
    own = summed(tallies)
    assert own.decisions == {"hold": 2, "allow": 2}
    assert own.flags == {"velocity": 2}
    assert sum(own.histograms["rougeL"].counts.values()) == 2
