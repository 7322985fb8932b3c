"""What a record of the log adds to the projections: documents of that one record, to be merged into those there are."""

from dataclasses import dataclass
from functools import singledispatch

from aex_governance.rules.projection import places
from aex_governance.rules.projection.documents import (
    BandEntry,
    DomainShard,
    HashEntry,
    PaceShard,
    ProfileShard,
    Projected,
    Tally,
)
from aex_governance.rules.projection.measures import measured
from aex_governance.rules.projection.merging import merged
from aex_governance.rules.projection.records import LogRecord, OutcomeEntry, ValidationRecord
from aex_governance.rules.sighting import Sighting
from aex_governance.rules.sketch import bands_of, decoded
from aex_models.governance import Action
from aex_runtime.clock import epoch_micros

_MICROS_PER_MINUTE = 60_000_000


@dataclass(frozen=True, slots=True)
class Increment:
    """What one record adds to one document: its type and its place tell which, in each generation."""

    place: str
    change: Projected

    @property
    def kind(self) -> type[Projected]:
        """The type of document."""
        return type(self.change)


def apply(document: Projected | None, increment: Increment) -> Projected:
    """The document with the increment, or a new one. In any order the same; each increment may be applied once."""
    return increment.change if document is None else merged(document, increment.change)


@singledispatch
def increments(record: LogRecord) -> tuple[Increment, ...]:
    """What the record adds, at most one increment for each document."""
    raise TypeError(f"{type(record).__name__} is no record of the log")


@increments.register
def _(record: OutcomeEntry) -> tuple[Increment, ...]:
    tally = Tally(outcomes=1, successes=int(record.success), final_statuses={record.final_status: 1})
    return _counted(record.agent_id, record.domain, record.contract_id, tally)


@increments.register
def _(record: ValidationRecord) -> tuple[Increment, ...]:
    request, decision = record.request, record.decision
    tally = Tally(
        decisions={decision.action.value: 1},
        flags={flag.rule: 1 for flag in decision.flags},
        histograms=measured(request.extracted_metrics) if decision.action is Action.ALLOW else {},
    )
    counted = _counted(request.agent.id, request.domain, request.attempt_id, tally)
    return counted + _paced(record) + (_sighted(record) if record.is_free else ())


def _counted(agent_id: str, domain: str, record_id: str, tally: Tally) -> tuple[Increment, ...]:
    own, all_ = places.shard_of(record_id, places.PROFILE_SHARDS), places.shard_of(record_id, places.DOMAIN_SHARDS)
    return (
        Increment(
            places.profile_place(agent_id, domain, own),
            ProfileShard(agent_id=agent_id, domain=domain, shard=own, tally=tally),
        ),
        Increment(places.domain_place(domain, all_), DomainShard(domain=domain, shard=all_, tally=tally)),
    )


def _paced(record: ValidationRecord) -> tuple[Increment, ...]:
    agent_id, shard = record.request.agent.id, places.shard_of(record.request.attempt_id, places.PACE_SHARDS)
    hour, minute = divmod(epoch_micros(record.decided_at) // _MICROS_PER_MINUTE, 60)
    return tuple(
        Increment(
            places.pace_place(agent_id, consumer_id, hour, shard),
            PaceShard(agent_id=agent_id, consumer_id=consumer_id, hour=hour, shard=shard, minutes={minute: 1}),
        )
        for consumer_id in (None, record.request.consumer.id)
    )


def _sighted(record: ValidationRecord) -> tuple[Increment, ...]:
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
    bands = bands_of(decoded(record.sketch)) if record.sketch else ()
    return (
        Increment(places.hash_place(request.output_hash), entry),
        *(Increment(places.band_place(band), BandEntry(sightings=(sighting,))) for band in bands),
    )
