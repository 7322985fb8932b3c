"""Increments: the changes that one record of the log makes to projection documents."""

from collections.abc import Mapping
from dataclasses import dataclass

from aex_governance.rules.histogram import bucket_of, clamp_metric
from aex_governance.rules.projection_documents import (
    DOMAIN_SHARDS,
    PROFILE_SHARDS,
    RECENT_SHARDS,
    BandEntry,
    Buckets,
    DomainShard,
    HashEntry,
    LogRecord,
    OutcomeEntry,
    ProfileShard,
    ProfileTally,
    Projected,
    RecentShard,
    Sighting,
    ValidationRecord,
    band_key,
    domain_key,
    profile_key,
    recent_shard_key,
    shard_of,
)
from aex_governance.rules.projection_merging import limit_metrics_by_name, merge_documents
from aex_governance.text.free_text import decode_sketch, sketch_bands
from aex_models.governance import Action
from aex_runtime.clock import epoch_micros

MAX_NAME = 128
_MICROS_PER_MINUTE = 60_000_000


@dataclass(frozen=True, slots=True)
class Increment:
    """Change that one record makes to one document: a small document to merge into the stored one."""

    key: str
    """Key of the document within a generation."""
    change: Projected

    @property
    def kind(self) -> type[Projected]:
        """Return the type of the document."""
        return type(self.change)


def apply_increment(document: Projected | None, increment: Increment) -> Projected:
    """Return the document with the increment merged into it.

    Increments may be applied in any order. An increment that is applied twice counts twice.
    """
    return increment.change if document is None else merge_documents(document, increment.change)


def compute_increments(record: LogRecord) -> tuple[Increment, ...]:
    """Return the changes that a record of the log makes, at most one for each document."""
    if isinstance(record, OutcomeEntry):
        tally = ProfileTally(outcomes=1, successes=int(record.success), final_statuses={record.final_status: 1})
        return _tally_increments(record.agent_id, record.domain, record.contract_id, tally)
    request, decision = record.request, record.decision
    tally = ProfileTally(
        decisions={decision.action.value: 1},
        flags={flag.rule: 1 for flag in decision.flags},
        histograms=build_metric_histograms(request.extracted_metrics) if decision.action is Action.ALLOW else {},
    )
    counts = _tally_increments(request.agent.id, request.domain, request.attempt_id, tally)
    return counts + _recent_increments(record) + (_sighting_increments(record) if record.is_free else ())


def build_metric_histograms(metrics: Mapping[str, bool | float | int | None]) -> dict[str, Buckets]:
    """Return a histogram of one value for each numeric metric; at most `MAX_METRICS` metrics."""
    return limit_metrics_by_name(
        {
            name: Buckets(counts={bucket_of(clamp_metric(value)): 1})
            for name, value in metrics.items()
            if value is not None and not isinstance(value, bool) and len(name) <= MAX_NAME
        }
    )


def _tally_increments(agent_id: str, domain: str, record_id: str, tally: ProfileTally) -> tuple[Increment, ...]:
    own, common = shard_of(record_id, PROFILE_SHARDS), shard_of(record_id, DOMAIN_SHARDS)
    profile = ProfileShard(agent_id=agent_id, domain=domain, shard=own, tally=tally)
    return (
        Increment(profile_key(agent_id, domain, own), profile),
        Increment(domain_key(domain, common), DomainShard(domain=domain, shard=common, tally=tally)),
    )


def _recent_increments(record: ValidationRecord) -> tuple[Increment, ...]:
    agent_id, shard = record.request.agent.id, shard_of(record.request.attempt_id, RECENT_SHARDS)
    hour, minute = divmod(epoch_micros(record.decided_at) // _MICROS_PER_MINUTE, 60)
    return tuple(
        Increment(
            recent_shard_key(agent_id, consumer_id, hour, shard),
            RecentShard(agent_id=agent_id, consumer_id=consumer_id, hour=hour, shard=shard, minutes={minute: 1}),
        )
        for consumer_id in (None, record.request.consumer.id)
    )


def _sighting_increments(record: ValidationRecord) -> tuple[Increment, ...]:
    request = record.request
    sighting = Sighting(
        agent_id=request.agent.id,
        consumer_id=request.consumer.id,
        work_id=request.work_id,
        contract_id=request.contract_id,
        attempt_id=request.attempt_id,
        output_hash=request.output_hash,
        seen_at=request.received_at,
    )
    entry = HashEntry(output_hash=request.output_hash, sightings=(sighting,))
    bands = sketch_bands(decode_sketch(record.sketch)) if record.sketch else ()
    return (
        Increment(request.output_hash, entry),
        *(Increment(band_key(band), BandEntry(sightings=(sighting,))) for band in bands),
    )
