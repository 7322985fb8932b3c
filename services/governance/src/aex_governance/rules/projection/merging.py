"""Two documents of one place as one. Commutative and associative: sums, and the earliest of the first sightings."""

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

from aex_governance.rules.projection.documents import (
    BandEntry,
    Buckets,
    DomainShard,
    HashEntry,
    PaceShard,
    ProfileShard,
    Projected,
    Tally,
)
from aex_governance.rules.projection.measures import added, kept
from aex_governance.rules.sighting import Sighting

K = TypeVar("K")
MAX_COPIES = 32
MAX_MEMBERS = 16


def merged(left: Projected, right: Projected) -> Projected:
    """Raises `TypeError` where they are not of one type."""
    match left, right:
        case ProfileShard(), ProfileShard():
            return left.model_copy(update={"tally": summed((left.tally, right.tally))})
        case DomainShard(), DomainShard():
            return left.model_copy(update={"tally": summed((left.tally, right.tally))})
        case PaceShard(), PaceShard():
            return left.model_copy(update={"minutes": _sum((left.minutes, right.minutes))})
        case HashEntry(), HashEntry():
            first = earliest((*left.sightings, *right.sightings), _agent_and_consumer, MAX_COPIES)
            return left.model_copy(update={"sightings": first})
        case BandEntry(), BandEntry():
            return BandEntry(sightings=earliest((*left.sightings, *right.sightings), _agent, MAX_MEMBERS))
        case _:
            raise TypeError(f"{type(left).__name__} and {type(right).__name__} are not merged")


def summed(tallies: Iterable[Tally]) -> Tally:
    """All of them as one: what a profile's shards say together."""
    parts = list(tallies)
    return Tally(
        outcomes=sum(each.outcomes for each in parts),
        successes=sum(each.successes for each in parts),
        final_statuses=_sum(each.final_statuses for each in parts),
        decisions=_sum(each.decisions for each in parts),
        flags=_sum(each.flags for each in parts),
        histograms=_added([each.histograms for each in parts]),
    )


def earliest(
    sightings: Iterable[Sighting], whose: Callable[[Sighting], Hashable], at_most: int
) -> tuple[Sighting, ...]:
    """The first sighting of each, and of these the earliest: what falls out here would fall out of any larger set."""
    first: dict[Hashable, Sighting] = {}
    for each in sorted(sightings, key=_when):
        first.setdefault(whose(each), each)
    return tuple(first.values())[:at_most]


def _when(sighting: Sighting) -> tuple[object, str]:
    return sighting.seen_at, sighting.attempt_id


def _agent(sighting: Sighting) -> str:
    return sighting.agent_id


def _agent_and_consumer(sighting: Sighting) -> tuple[str, str]:
    return sighting.agent_id, sighting.consumer_id


def _sum(counted: Iterable[Mapping[K, int]]) -> dict[K, int]:
    total: dict[K, int] = {}
    for each in counted:
        for key, count in each.items():
            total[key] = total.get(key, 0) + count
    return total


def histograms_of(tallies: Iterable[Tally], names: Collection[str]) -> dict[str, Buckets]:
    """The histograms of these metrics alone, as `summed` has them."""
    return _added([each.histograms for each in tallies], names)


def _added(parts: Sequence[Mapping[str, Buckets]], names: Collection[str] | None = None) -> dict[str, Buckets]:
    by_name: dict[str, list[Buckets]] = {}
    for part in parts:
        for name, buckets in part.items():
            by_name.setdefault(name, []).append(buckets)
    return {name: added(by_name[name]) for name in kept(by_name) if names is None or name in names}
