"""Documents of the projections, their keys within a generation, and the records of the log.

A projection holds integer counts and first sightings, which are equal in any order of records. It can be rebuilt from
the log. Ids are hashed in keys: writes spread, and any text makes a key.
"""

from hashlib import sha256

from aex_models.frozen import Frozen, Identifier, Instant, Sha256
from aex_models.governance import ValidationDecision, ValidationRequest

PROFILE_SHARDS = 4
DOMAIN_SHARDS = 8
RECENT_SHARDS = 4


class Buckets(Frozen):
    """A histogram in few buckets: bucket `b` of level `n` holds `b·2ⁿ` to `(b + 1)·2ⁿ − 1` of level 0."""

    level: int = 0
    """The lowest with few enough buckets."""
    counts: dict[int, int] = {}


class ProfileTally(Frozen):
    """Counts of ended contracts (the first three) and of validated attempts (the others)."""

    outcomes: int = 0
    successes: int = 0
    final_statuses: dict[str, int] = {}
    decisions: dict[str, int] = {}
    """Action → attempts."""
    flags: dict[str, int] = {}
    """Rule → attempts with its flag."""
    histograms: dict[str, Buckets] = {}
    """Metric → its values in allowed attempts."""


class ProfileShard(Frozen):
    """A part of an agent's counts in one domain."""

    agent_id: str
    domain: str
    shard: int
    tally: ProfileTally = ProfileTally()


class DomainShard(Frozen):
    """A part of all agents' counts in one domain."""

    domain: str
    shard: int
    tally: ProfileTally = ProfileTally()


class RecentShard(Frozen):
    """A part of an agent's validated attempts within one hour, for one consumer or (None) for all."""

    agent_id: str
    consumer_id: str | None
    hour: int
    """Since 1970."""
    shard: int
    minutes: dict[int, int] = {}
    """Minute of the hour → attempts."""


class Sighting(Frozen):
    """A validated attempt in the index of hashes or bands."""

    agent_id: Identifier
    consumer_id: Identifier
    work_id: Identifier
    contract_id: Identifier
    attempt_id: Identifier
    output_hash: Sha256
    seen_at: Instant
    """Time at which its output was received."""


class HashEntry(Frozen):
    """The earliest sightings of an output, one for each agent and consumer."""

    output_hash: Sha256
    sightings: tuple[Sighting, ...] = ()


class BandEntry(Frozen):
    """The earliest sightings of texts with one band of the sketch, one for each agent."""

    sightings: tuple[Sighting, ...] = ()


Projected = ProfileShard | DomainShard | RecentShard | HashEntry | BandEntry


class ValidationRecord(Frozen):
    """Record of one attempt's validation in the log."""

    request: ValidationRequest
    """Request without texts, truncated to the limits of a document."""
    decision: ValidationDecision
    decided_at: Instant
    is_free: bool = False
    """True for free text; only such outputs are in the indexes."""
    sketch: str | None = None
    """The text's sketch, as `encode_sketch` writes it."""
    generations: tuple[int, ...] = ()
    """The generations that it is folded into, updated in the transaction of the fold."""


class OutcomeEntry(Frozen):
    """Record of one contract's final outcome in the log."""

    contract_id: str
    agent_id: str
    consumer_id: str
    domain: str
    final_status: str
    success: bool
    flags: tuple[str, ...] = ()
    occurred_at: Instant
    generations: tuple[int, ...] = ()
    """As in `ValidationRecord`."""


LogRecord = ValidationRecord | OutcomeEntry


def shard_of(record_id: str, shards: int) -> int:
    """Return the shard of a record, by the id of its attempt or contract."""
    return int.from_bytes(sha256(record_id.encode()).digest()[:4]) % shards


def agent_key_prefix(agent_id: str) -> str:
    """Return the prefix of the keys of an agent's profile."""
    return f"{_hash_ids(agent_id)}-"


def profile_key(agent_id: str, domain: str, shard: int) -> str:
    return f"{agent_key_prefix(agent_id)}{_hash_ids(domain)}-{shard}"


def domain_key(domain: str, shard: int) -> str:
    return f"{_hash_ids(domain)}-{shard}"


def recent_key(agent_id: str, consumer_id: str | None, hour: int, shard: int) -> str:
    return f"{_hash_ids(agent_id, *(() if consumer_id is None else (consumer_id,)), str(hour))}-{shard}"


def band_key(band: str) -> str:
    """Return the key of a `BandEntry`; a `HashEntry` has the hash itself."""
    return _hash_ids(band)


def _hash_ids(*ids: str) -> str:
    return sha256("\n".join(ids).encode()).hexdigest()[:32]
