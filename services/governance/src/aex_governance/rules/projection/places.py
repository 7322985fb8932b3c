"""Where a projected document lies, but for its generation. Ids are hashed: writes spread, and any text makes a key."""

from hashlib import sha256

PROFILE_SHARDS = 4
DOMAIN_SHARDS = 8
PACE_SHARDS = 4


def shard_of(record_id: str, shards: int) -> int:
    """The shard that a record is counted in, by the id of its attempt or contract."""
    return int.from_bytes(sha256(record_id.encode()).digest()[:4]) % shards


def agent_places(agent_id: str) -> str:
    """What all places of an agent's profile begin with."""
    return f"{_hashed(agent_id)}-"


def profile_place(agent_id: str, domain: str, shard: int) -> str:
    """A shard of an agent's record in a domain."""
    return f"{agent_places(agent_id)}{_hashed(domain)}-{shard}"


def domain_place(domain: str, shard: int) -> str:
    """A shard of a domain's record."""
    return f"{_hashed(domain)}-{shard}"


def pace_place(agent_id: str, consumer_id: str | None, hour: int, shard: int) -> str:
    """A shard of an agent's hour, with one consumer or with anybody (None)."""
    return f"{_hashed(agent_id, *(() if consumer_id is None else (consumer_id,)), str(hour))}-{shard}"


def hash_place(output_hash: str) -> str:
    """The sightings of an output."""
    return output_hash


def band_place(band: str) -> str:
    """The sightings of a band."""
    return _hashed(band)


def _hashed(*parts: str) -> str:
    return sha256("\n".join(parts).encode()).hexdigest()[:32]
