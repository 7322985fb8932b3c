"""Merging of projection documents, in any order; and selection of earlier outputs to compare with."""

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from datetime import datetime
from operator import attrgetter
from typing import TypeVar

from aex_governance.rules.projection_documents import (
    BandEntry,
    Buckets,
    DomainShard,
    HashEntry,
    ProfileShard,
    ProfileTally,
    Projected,
    RecentShard,
    Sighting,
)
from aex_models.governance import ValidationRequest

K = TypeVar("K")
T = TypeVar("T")
MAX_COPIES = 32
MAX_MEMBERS = 16
MAX_METRICS = 32
MAX_BUCKETS = 64
MAX_COMPARED = 8
"""Similar sightings of other agents that are compared; the agent's own are compared in addition."""


def merge_documents(left: Projected, right: Projected) -> Projected:
    """Return the merger of two documents of one key. Raises `TypeError` when their types differ."""
    match left, right:
        case ProfileShard(), ProfileShard():
            return left.model_copy(update={"tally": sum_tallies((left.tally, right.tally))})
        case DomainShard(), DomainShard():
            return left.model_copy(update={"tally": sum_tallies((left.tally, right.tally))})
        case RecentShard(), RecentShard():
            return left.model_copy(update={"minutes": _sum_counts((left.minutes, right.minutes))})
        case HashEntry(), HashEntry():
            first = select_earliest_sighting_per_group(
                (*left.sightings, *right.sightings), attrgetter("agent_id", "consumer_id"), MAX_COPIES
            )
            return left.model_copy(update={"sightings": first})
        case BandEntry(), BandEntry():
            first = select_earliest_sighting_per_group(
                (*left.sightings, *right.sightings), attrgetter("agent_id"), MAX_MEMBERS
            )
            return BandEntry(sightings=first)
        case _:
            raise TypeError(f"{type(left).__name__} and {type(right).__name__} are not merged")


def sum_tallies(tallies: Iterable[ProfileTally]) -> ProfileTally:
    """Return the sum of tallies, such as those of all shards of a profile."""
    parts = list(tallies)
    return ProfileTally(
        outcomes=sum(each.outcomes for each in parts),
        successes=sum(each.successes for each in parts),
        final_statuses=_sum_counts(each.final_statuses for each in parts),
        decisions=_sum_counts(each.decisions for each in parts),
        flags=_sum_counts(each.flags for each in parts),
        histograms=_sum_histograms([each.histograms for each in parts]),
    )


def sum_histograms(tallies: Iterable[ProfileTally], names: Collection[str]) -> dict[str, Buckets]:
    """Return, for each metric in `names`, the sum of its histograms over all tallies.

    A metric that no tally has, or that `limit_metrics_by_name` drops, is omitted.
    """
    return _sum_histograms([each.histograms for each in tallies], names)


def select_earliest_sighting_per_group(
    sightings: Iterable[Sighting], group: Callable[[Sighting], Hashable], limit: int
) -> tuple[Sighting, ...]:
    """Return the earliest sighting of each group, sorted by time, up to `limit` of them."""
    first: dict[Hashable, Sighting] = {}
    for each in sorted(sightings, key=_order):
        first.setdefault(group(each), each)
    return tuple(first.values())[:limit]


def limit_metrics_by_name(histograms: Mapping[str, T]) -> dict[str, T]:
    """Return the histograms of the first `MAX_METRICS` names; names without dots come first.

    The choice depends only on the names, not on the order of records.
    """
    names = sorted(histograms, key=lambda name: ("." in name, name))
    return {name: histograms[name] for name in names[:MAX_METRICS]}


def sum_buckets(parts: Sequence[Buckets]) -> Buckets:
    """Return the sum of histograms, with buckets merged until there are at most `MAX_BUCKETS`."""
    level = max((part.level for part in parts), default=0)
    counts = _sum_counts(_coarsen(part.counts, level - part.level) for part in parts)
    while len(counts) > MAX_BUCKETS:
        counts = _coarsen(counts, 1)
        level += 1
    return Buckets(level=level, counts=counts)


def _coarsen(counts: Mapping[int, int], levels: int) -> dict[int, int]:
    return _sum_counts({bucket >> levels: count} for bucket, count in counts.items())


def _sum_counts(parts: Iterable[Mapping[K, int]]) -> dict[K, int]:
    total: Counter[K] = Counter()
    for each in parts:
        total.update(each)
    return dict(total)


def _sum_histograms(parts: Sequence[Mapping[str, Buckets]], names: Collection[str] | None = None) -> dict[str, Buckets]:
    by_name: dict[str, list[Buckets]] = {}
    for part in parts:
        for name, buckets in part.items():
            by_name.setdefault(name, []).append(buckets)
    return {
        name: sum_buckets(by_name[name]) for name in limit_metrics_by_name(by_name) if names is None or name in names
    }


def similar_sightings(request: ValidationRequest, bands: Iterable[Iterable[Sighting]]) -> list[Sighting]:
    """Return earlier outputs to compare with the request, from the bands of its text's sketch.

    First come the agent's own, then up to `MAX_COMPARED` of other agents, those that share most bands first. Identical
    outputs of other agents, and those of the same contract, are left out.
    """
    shared: Counter[str] = Counter()
    own: dict[str, Sighting] = {}
    foreign: dict[str, Sighting] = {}
    for sightings in bands:
        for each in sightings:
            shared[each.attempt_id] += 1
            if each.agent_id == request.agent.id:
                own[each.attempt_id] = each
            elif each.contract_id != request.contract_id and each.output_hash != request.output_hash:
                foreign[each.attempt_id] = each
    ranked = sorted(foreign.values(), key=lambda each: (-shared[each.attempt_id], *_order(each)))
    return [*sorted(own.values(), key=_order), *ranked[:MAX_COMPARED]]


def select_foreign_until_first_own(foreign: Iterable[Sighting], own: Iterable[Sighting]) -> list[Sighting]:
    """Return other agents' sightings (earlier outputs) up to the agent's own earliest one, by time.

    So an author is not accused when others copy the text before the author's next delivery.
    """
    first = min(map(_order, own), default=None)
    return sorted((each for each in foreign if first is None or _order(each) <= first), key=_order)


def format_late_validation_note(request: ValidationRequest, sightings: Sequence[Sighting]) -> str:
    """Return a suffix for a flag's message if all sightings were received after the request, else `""`."""
    late = all(each.seen_at > request.received_at for each in sightings)
    return "; it was received after this one, though its validation came first" if late else ""


def _order(sighting: Sighting) -> tuple[datetime, str]:
    return sighting.seen_at, sighting.attempt_id
