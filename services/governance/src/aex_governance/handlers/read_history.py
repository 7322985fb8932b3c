"""What rules compare an attempt with. Read before its transaction: a moment old is as good."""

import asyncio
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from aex_governance.deps import Deps
from aex_governance.repository.projections import DOMAINS, PACES, PROFILES, projected_key
from aex_governance.rules.case import Pace
from aex_governance.rules.histogram import Histogram
from aex_governance.rules.projection import places
from aex_governance.rules.projection.documents import DomainShard, ProfileShard, Tally
from aex_governance.rules.projection.merging import histograms_of
from aex_governance.rules.statistical_outlier import left_to_domain
from aex_models.governance import ValidationRequest
from aex_runtime.clock import epoch_micros
from aex_runtime.store.port import Store

_MINUTE = 60_000_000


@dataclass(frozen=True, slots=True)
class History:
    """The part of a case that comes from the profiles and the paces."""

    own: Mapping[str, Histogram] = field(default_factory=dict)
    domain: Mapping[str, Histogram] = field(default_factory=dict)
    pace: Pace = field(default_factory=Pace)


async def read_history(deps: Deps, request: ValidationRequest, generation: int) -> History:
    """The agent's histograms, the domain's where these are too short, and how many outcomes the agent had lately."""
    (own, domain), pace = await asyncio.gather(_histograms(deps, request, generation), _pace(deps, request, generation))
    return History(own, domain, pace)


async def _histograms(
    deps: Deps, request: ValidationRequest, generation: int
) -> tuple[Mapping[str, Histogram], Mapping[str, Histogram]]:
    """The agent's own and the domain's, of the metrics that the request has."""
    config = deps.rules.get("statistical_outlier")
    if config is None or not config.enabled:
        return {}, {}
    own = _of([each.tally for each in await _own(deps.store, request, generation)], request.extracted_metrics)
    left = left_to_domain(request, own, config.thresholds)
    domain = await _domain(deps.store, request, generation) if left else []
    return own, _of([each.tally for each in domain], left)


async def _own(store: Store, request: ValidationRequest, generation: int) -> list[ProfileShard]:
    agent_id, domain = request.agent.id, request.domain
    keys = [
        projected_key(generation, places.profile_place(agent_id, domain, shard))
        for shard in range(places.PROFILE_SHARDS)
    ]
    return [each for each in await PROFILES.get_many(store, keys) if each]


async def _domain(store: Store, request: ValidationRequest, generation: int) -> list[DomainShard]:
    keys = [
        projected_key(generation, places.domain_place(request.domain, shard)) for shard in range(places.DOMAIN_SHARDS)
    ]
    return [each for each in await DOMAINS.get_many(store, keys) if each]


def _of(tallies: Iterable[Tally], names: Collection[str]) -> Mapping[str, Histogram]:
    found = histograms_of(tallies, names)
    return {name: Histogram.of_coarse(each.counts, each.level) for name, each in found.items()}


async def _pace(deps: Deps, request: ValidationRequest, generation: int) -> Pace:
    config = deps.rules.get("velocity")
    if config is None or not config.enabled:
        return Pace()
    first, last = _minutes(deps.clock.now(), config.thresholds["window_s"])
    parties = (None, request.consumer.id)
    keys = [
        projected_key(generation, places.pace_place(request.agent.id, consumer_id, hour, shard))
        for consumer_id in parties
        for hour in range(first // 60, last // 60 + 1)
        for shard in range(places.PACE_SHARDS)
    ]
    counts = dict.fromkeys(parties, 0)
    for shard in await PACES.get_many(deps.store, keys):
        if shard is not None:
            counts[shard.consumer_id] += sum(
                count for minute, count in shard.minutes.items() if first <= shard.hour * 60 + minute <= last
            )
    return Pace(agent=counts[None], pair=counts[request.consumer.id])


def _minutes(now: datetime, window_s: float) -> tuple[int, int]:
    """The first and the last minute, since 1970, that the window touches."""
    return epoch_micros(now - timedelta(seconds=window_s)) // _MINUTE, epoch_micros(now) // _MINUTE
