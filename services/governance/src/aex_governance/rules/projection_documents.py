"""Documents of the projections, their keys, and the records of the log from which they are built.

A projection holds only counts and the earliest attempts with a text, so the order of records does not matter. Ids are
hashed in keys, which spreads writes and allows any text as an id.
"""

from hashlib import sha256

from aex_models.frozen import Frozen, Identifier, Instant, Sha256
from aex_models.governance import ValidationDecision, ValidationRequest

PROFILE_SHARDS = 4
DOMAIN_SHARDS = 8
RECENT_SHARDS = 4


class Buckets(Frozen):
    """Histogram with merged buckets: bucket b of level n covers b·2ⁿ to (b + 1)·2ⁿ − 1 of level 0."""

    level: int = 0
    """Lowest level at which the histogram has few enough buckets."""
    counts: dict[int, int] = {}


class ProfileTally(Frozen):
    """Counts of an agent or a domain.

    `outcomes`, `successes` and `final_statuses` count ended contracts; the other fields count validated attempts.
    """

    outcomes: int = 0
    successes: int = 0
    final_statuses: dict[str, int] = {}
    decisions: dict[str, int] = {}
    """Number of attempts by action."""
    flags: dict[str, int] = {}
    """Number of attempts flagged, by rule."""
    histograms: dict[str, Buckets] = {}
    """Values in allowed attempts, by metric."""


class ProfileShard(Frozen):
    """Part (shard) of an agent's counts in one domain; the parts are summed when they are read."""

    agent_id: str
    domain: str
    shard: int
    tally: ProfileTally = ProfileTally()


class DomainShard(Frozen):
    """Part (shard) of all agents' counts in one domain; the parts are summed when they are read."""

    domain: str
    shard: int
    tally: ProfileTally = ProfileTally()


class RecentShard(Frozen):
    """Counter of an agent's validated attempts in one hour, by minute; one of several shards.

    It counts attempts for one consumer, or for all consumers where `consumer_id` is None.
    """

    agent_id: str
    consumer_id: str | None
    hour: int
    """Hours since 1970."""
    shard: int
    minutes: dict[int, int] = {}
    """Number of attempts by minute of the hour."""


class Sighting(Frozen):
    """Earlier validated attempt, as the indexes of identical and similar texts list it."""

    agent_id: Identifier
    consumer_id: Identifier
    work_id: Identifier
    contract_id: Identifier
    attempt_id: Identifier
    output_hash: Sha256
    seen_at: Instant
    """Time at which the attempt's output was received."""


class HashEntry(Frozen):
    """Earliest sightings of one output hash, one for each pair of agent and consumer."""

    output_hash: Sha256
    sightings: tuple[Sighting, ...] = ()


class BandEntry(Frozen):
    """Earliest sightings of texts that share one band of their sketches, one for each agent.

    A band is a part of a sketch; similar texts probably share one.
    """

    sightings: tuple[Sighting, ...] = ()


Projected = ProfileShard | DomainShard | RecentShard | HashEntry | BandEntry


class ValidationRecord(Frozen):
    """Record of the log: the validation of one attempt."""

    request: ValidationRequest
    """Request without its texts, truncated to the limits of a document."""
    decision: ValidationDecision
    decided_at: Instant
    is_free: bool = False
    """True if the output is free text; only such outputs are in the indexes of texts."""
    sketch: str | None = None
    """Sketch of the text, encoded by `encode_sketch`; None if it has none."""
    generations: tuple[int, ...] = ()
    """Generations of the projections to which the record was added when it was logged."""


class OutcomeEntry(Frozen):
    """Record of the log: the final outcome of one contract."""

    contract_id: str
    agent_id: str
    consumer_id: str
    domain: str
    final_status: str
    success: bool
    flags: tuple[str, ...] = ()
    occurred_at: Instant
    generations: tuple[int, ...] = ()
    """Generations of the projections to which the record was added when it was logged."""


LogRecord = ValidationRecord | OutcomeEntry


def shard_of(record_id: str, shards: int) -> int:
    """Return the number of the shard that counts a record, derived from its attempt's or contract's id."""
    return int.from_bytes(sha256(record_id.encode()).digest()[:4]) % shards


def agent_key_prefix(agent_id: str) -> str:
    """Return the common prefix of the keys of all `ProfileShard`s of an agent."""
    return f"{_hash_ids(agent_id)}-"


def profile_key(agent_id: str, domain: str, shard: int) -> str:
    """Return the key of a `ProfileShard` within a generation."""
    return f"{agent_key_prefix(agent_id)}{_hash_ids(domain)}-{shard}"


def domain_key(domain: str, shard: int) -> str:
    """Return the key of a `DomainShard` within a generation."""
    return f"{_hash_ids(domain)}-{shard}"


def recent_shard_key(agent_id: str, consumer_id: str | None, hour: int, shard: int) -> str:
    """Return the key of a `RecentShard` within a generation; `hour` counts from 1970."""
    return f"{_hash_ids(agent_id, *(() if consumer_id is None else (consumer_id,)), str(hour))}-{shard}"


def band_key(band: str) -> str:
    """Return the key of a `BandEntry` within a generation. The key of a `HashEntry` is its output hash."""
    return _hash_ids(band)


def _hash_ids(*ids: str) -> str:
    return sha256("\n".join(ids).encode()).hexdigest()[:32]
