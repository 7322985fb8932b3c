"""Outcomes as lines of JSON: as records, or as rollouts."""

import json
from enum import StrEnum

from aex_models.audiences import Audience, Disclosure, project
from aex_models.outcome import OutcomeRecord
from aex_verification.rules.outcome import paid_for
from aex_verification.rules.outcome_rollout import rollout_of

MEDIA_TYPE = "application/x-ndjson"
_JSON = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
"""In ASCII: some readers take U+2028 and its like for the end of a line."""


class OutcomeFormat(StrEnum):
    """What each line holds."""

    JSONL = "jsonl"
    """An outcome record."""
    ROLLOUTS = "rollouts"
    """A `RolloutResponse`."""


def outcome_line(record: OutcomeRecord, audience: Audience, written: OutcomeFormat) -> bytes | None:
    """The record as its reader may see it, on a line of its own; None where there is no such line."""
    disclosure = Disclosure(level=record.disclosure, output=paid_for(record))
    if written is OutcomeFormat.JSONL:
        return f"{_JSON(project(record, audience, disclosure))}\n".encode()
    # Megabytes of output that no rollout tells are not walked through.
    rollout = rollout_of(project(record.model_copy(update={"final_result": None}), audience, disclosure))
    return None if rollout is None else f"{_JSON(rollout.model_dump(mode='json', exclude_none=True))}\n".encode()
