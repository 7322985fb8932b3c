"""What rules compare an attempt with. Read before its transaction: a moment old is as good."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from aex_governance.deps import Deps
from aex_governance.repository.projections import DOMAINS, PACES, PROFILES, projected_key
from aex_governance.rules.case import Pace
from aex_governance.rules.histogram import Histogram
from aex_governance.rules.projection import places
from aex_governance.rules.projection.documents import Tally
from aex_governance.rules.projection.merging import summed
from aex_models.governance import ValidationRequest
from aex_runtime.clock import epoch_micros
from aex_runtime.store.port import Store

MAX_WINDOW_S = 86_400
_MINUTE = 60_000_000


@dataclass(frozen=True, slots=True)
class History:
    """The part of a case that comes from the profiles and the paces."""

    own: Mapping[str, Histogram] = field(default_factory=dict)
    domain: Mapping[str, Histogram] = field(default_factory=dict)
    pace: Pace = field(default_factory=Pace)


async def read_history(deps: Deps, request: ValidationRequest, generation: int) -> History:
    """The agent's and the domain's histograms, and how many outcomes the agent had lately."""
    own, domain, pace = await asyncio.gather(
        _own(deps.store, request, generation),
        _domain(deps.store, request, generation),
        _pace(deps, request, generation),
    )
    return History(own, domain, pace)


async def _own(store: Store, request: ValidationRequest, generation: int) -> Mapping[str, Histogram]:
    agent_id, domain = request.agent.id, request.domain
    keys = [
        projected_key(generation, places.profile_place(agent_id, domain, shard))
        for shard in range(places.PROFILE_SHARDS)
    ]
    found = await PROFILES.get_many(store, keys)
    return _histograms([each.tally for each in found if each])


async def _domain(store: Store, request: ValidationRequest, generation: int) -> Mapping[str, Histogram]:
    keys = [
        projected_key(generation, places.domain_place(request.domain, shard)) for shard in range(places.DOMAIN_SHARDS)
    ]
    found = await DOMAINS.get_many(store, keys)
    return _histograms([each.tally for each in found if each])


def _histograms(tallies: Sequence[Tally]) -> Mapping[str, Histogram]:
    merged = summed(tallies).histograms
    return {name: Histogram.of_coarse(each.counts, each.level) for name, each in merged.items()}


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
    reach = timedelta(seconds=min(max(window_s, 0), MAX_WINDOW_S))
    return epoch_micros(now - reach) // _MINUTE, epoch_micros(now) // _MINUTE
