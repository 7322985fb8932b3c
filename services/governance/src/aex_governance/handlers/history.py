"""History of agents and domains: reads of it for the rules, and updates by each new record of the log."""

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, NamedTuple

from aex_governance.deps import Deps
from aex_governance.repository import (
    DOMAINS,
    OUTCOMES,
    PROFILES,
    RECENT,
    TABLES,
    projected_key,
    read_projection_generations,
)
from aex_governance.rules.case import RecentCounts
from aex_governance.rules.histogram import Histogram
from aex_governance.rules.projection_documents import (
    DOMAIN_SHARDS,
    PROFILE_SHARDS,
    RECENT_SHARDS,
    OutcomeEntry,
    ProfileTally,
    Projected,
    domain_key,
    profile_key,
    recent_shard_key,
)
from aex_governance.rules.projection_increments import Increment, apply_increment, compute_increments
from aex_governance.rules.projection_merging import sum_histograms
from aex_governance.rules.statistical_outlier import find_metrics_with_short_history
from aex_models.events import OutcomeVerified
from aex_models.governance import ValidationRequest
from aex_runtime.clock import epoch_micros
from aex_runtime.store.port import key_of
from aex_runtime.store.table import Stored
from aex_runtime.unit_of_work import Unit

_MINUTE = 60_000_000
DocumentKey = tuple[type[Projected], str]


class History(NamedTuple):
    """History that the rules need for one request."""

    own: Mapping[str, Histogram]
    """Values in the agent's allowed attempts of the domain, by metric."""
    domain: Mapping[str, Histogram]
    """Values in all agents' allowed attempts of the domain, by metric."""
    recent: RecentCounts
    """Numbers of recent attempts."""


async def read_history(deps: Deps, request: ValidationRequest, generation: int) -> History:
    """Return the history that the rules need for this request, from one generation of the projections.

    It is read before the transaction of the validation, so it may lack records committed in between.
    """
    histograms = _read_histograms(deps, request, generation)
    (own, domain), recent = await asyncio.gather(histograms, _read_recent(deps, request, generation))
    return History(own, domain, recent)


async def _read_histograms(
    deps: Deps, request: ValidationRequest, generation: int
) -> tuple[Mapping[str, Histogram], Mapping[str, Histogram]]:
    """Return the agent's histograms, and the domain's for metrics with too few values of the agent."""
    config = deps.rules.get("statistical_outlier")
    if config is None or not config.enabled:
        return {}, {}
    agent_id, domain = request.agent.id, request.domain
    keys = [projected_key(generation, profile_key(agent_id, domain, shard)) for shard in range(PROFILE_SHARDS)]
    shards = await PROFILES.get_many(deps.store, keys)
    own = _histograms((each.tally for each in shards if each), request.extracted_metrics)
    names = find_metrics_with_short_history(request, own, config.thresholds)
    if not names:
        return own, {}
    keys = [projected_key(generation, domain_key(domain, shard)) for shard in range(DOMAIN_SHARDS)]
    common = await DOMAINS.get_many(deps.store, keys)
    return own, _histograms((each.tally for each in common if each), names)


def _histograms(tallies: Iterable[ProfileTally], names: Collection[str]) -> Mapping[str, Histogram]:
    sums = sum_histograms(tallies, names)
    return {name: Histogram.from_merged_buckets(each.counts, each.level) for name, each in sums.items()}


async def _read_recent(deps: Deps, request: ValidationRequest, generation: int) -> RecentCounts:
    config = deps.rules.get("velocity")
    if config is None or not config.enabled:
        return RecentCounts()
    now = deps.clock.now()
    first = epoch_micros(now - timedelta(seconds=config.thresholds["window_s"])) // _MINUTE
    last = epoch_micros(now) // _MINUTE
    parties = (None, request.consumer.id)
    keys = [
        projected_key(generation, recent_shard_key(request.agent.id, consumer_id, hour, shard))
        for consumer_id in parties
        for hour in range(first // 60, last // 60 + 1)
        for shard in range(RECENT_SHARDS)
    ]
    counts = dict.fromkeys(parties, 0)
    for shard in await RECENT.get_many(deps.store, keys):
        if shard is not None:
            counts[shard.consumer_id] += sum(
                count for minute, count in shard.minutes.items() if first <= shard.hour * 60 + minute <= last
            )
    return RecentCounts(agent=counts[None], pair=counts[request.consumer.id])


@dataclass(frozen=True, slots=True)
class LoadedDocuments:
    """Stored documents that a new record will change, by type and key.

    The value is None for a document that does not exist yet.
    """

    documents: Mapping[DocumentKey, Stored[Any] | None]

    def select_records(self, kind: type[Projected], generation: int) -> list[Any]:
        """Return the existing documents of one type in one generation."""
        start = projected_key(generation, "")
        return [
            stored.record
            for (type_, key), stored in self.documents.items()
            if stored is not None and type_ is kind and key.startswith(start)
        ]


async def load_increments(unit: Unit, increments: Sequence[Increment], generations: Sequence[int]) -> LoadedDocuments:
    """Read the stored documents that the increments will change, in each of the generations."""
    keys_by_kind: dict[type[Projected], list[str]] = {}
    for generation in generations:
        for each in increments:
            keys_by_kind.setdefault(each.kind, []).append(projected_key(generation, each.key))
    found = await asyncio.gather(*(unit.get_many(TABLES[kind], keys) for kind, keys in keys_by_kind.items()))
    pairs = zip(keys_by_kind.items(), found, strict=True)
    return LoadedDocuments(
        {(kind, key): stored for (kind, keys), some in pairs for key, stored in zip(keys, some, strict=True)}
    )


def save_increments(
    unit: Unit, loaded: LoadedDocuments, increments: Sequence[Increment], generations: Sequence[int]
) -> None:
    """Write the loaded documents with the increments added, in each generation.

    A document that an increment does not change is not written.
    """
    for generation in generations:
        for each in increments:
            key = projected_key(generation, each.key)
            stored = loaded.documents[each.kind, key]
            record = apply_increment(stored.record if stored else None, each)
            if stored is None:
                unit.create(TABLES[each.kind], key, record)
            elif record != stored.record:
                unit.update(TABLES[each.kind], stored, record)


async def append_outcome_to_log_and_projections(deps: Deps, event: OutcomeVerified) -> None:
    """Append a contract's outcome to the log and add it to the projections; a repeat changes nothing."""
    outcome, result = event.outcome, event.outcome.verification_result
    entry = OutcomeEntry(
        contract_id=outcome.contract_id,
        agent_id=outcome.agent_id,
        consumer_id=outcome.consumer_id,
        domain=outcome.domain,
        final_status=outcome.final_status.value,
        success=result is not None and result.success,
        flags=result.governance_flags if result else (),
        occurred_at=outcome.created_at,
    )
    key, increments = key_of(entry.contract_id), compute_increments(entry)

    async def append_once(unit: Unit) -> None:
        if await unit.get(OUTCOMES, key) is not None:
            return
        generations = (await read_projection_generations(unit.transaction)).in_use
        loaded = await load_increments(unit, increments, generations)
        unit.create(OUTCOMES, key, entry.model_copy(update={"generations": generations}))
        save_increments(unit, loaded, increments, generations)

    await deps.unit_of_work.run(append_once)
