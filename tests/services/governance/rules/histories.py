"""Sightings and texts of a case's history."""

from typing import Any

from aex_governance.rules.projection_documents import Sighting
from aex_governance.text.free_text import FreeText, read_text
from tests.services.governance.requests import NOW
from tests.services.governance.texts import PROSE

FREE = read_text(PROSE)
SHORT = FreeText(tokens=12, is_free=False, sketch=None)


def sighting(**changes: Any) -> Sighting:
    """Return a sighting of another agent's output on another work."""
    plain: dict[str, Any] = {
        "agent_id": "rival",
        "consumer_id": "globex",
        "work_id": "work_0",
        "contract_id": "ctr_0",
        "attempt_id": "att_0",
        "output_hash": "0" * 64,
        "seen_at": NOW,
    }
    return Sighting.model_validate({**plain, **changes})
