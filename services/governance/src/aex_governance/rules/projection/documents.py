"""The projections' documents: integer counts and first sightings, equal in whatever order they were folded."""

from aex_governance.rules.sighting import Sighting
from aex_models.frozen import Frozen, Sha256


class Buckets(Frozen):
    """A histogram in few buckets: bucket `b` of level `n` holds the buckets `b·2ⁿ` to `(b + 1)·2ⁿ − 1` of level 0."""

    level: int = 0
    """The lowest at which it has few enough of them."""
    counts: dict[int, int] = {}


class Tally(Frozen):
    """What was counted of contracts that ended (`outcomes` and what follows) and of validated attempts (the rest)."""

    outcomes: int = 0
    successes: int = 0
    final_statuses: dict[str, int] = {}
    decisions: dict[str, int] = {}
    """Action → attempts."""
    flags: dict[str, int] = {}
    """Rule → attempts that it was raised for."""
    histograms: dict[str, Buckets] = {}
    """Metric → its values in allowed attempts: what was held teaches nothing."""


class ProfileShard(Frozen):
    """A part of an agent's record in one domain."""

    agent_id: str
    domain: str
    shard: int
    tally: Tally = Tally()


class DomainShard(Frozen):
    """A part of everybody's record in one domain."""

    domain: str
    shard: int
    tally: Tally = Tally()


class PaceShard(Frozen):
    """A part of what an agent had validated within one hour, for one consumer or (None) for anybody."""

    agent_id: str
    consumer_id: str | None
    hour: int
    """Since 1970."""
    shard: int
    minutes: dict[int, int] = {}
    """Minute of the hour → attempts."""


class HashEntry(Frozen):
    """Where an output was seen: the first sighting for each agent and consumer, the earliest of them."""

    output_hash: Sha256
    sightings: tuple[Sighting, ...] = ()


class BandEntry(Frozen):
    """Where texts with one band of the sketch were seen: the first sighting for each agent, the earliest of them."""

    sightings: tuple[Sighting, ...] = ()


Projected = ProfileShard | DomainShard | PaceShard | HashEntry | BandEntry
