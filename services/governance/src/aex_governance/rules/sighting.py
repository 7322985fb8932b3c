"""Where an output was seen before: what the indexes of hashes and bands remember."""

from aex_models.frozen import Frozen, Identifier, Instant, Sha256


class Sighting(Frozen):
    """One validated attempt, as an index remembers it."""

    agent_id: Identifier
    consumer_id: Identifier
    work_id: Identifier
    contract_id: Identifier
    attempt_id: Identifier
    output_hash: Sha256
    seen_at: Instant
    """When its output was received."""
