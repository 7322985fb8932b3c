"""Sightings for the tests."""

from typing import Any

from aex_governance.rules.sighting import Sighting
from aex_governance.rules.text import FreeText, read_text
from tests.services.governance.asking import NOW
from tests.services.governance.texts import PROSE

FREE = read_text(PROSE)
SHORT = FreeText(tokens=12, is_free=False, sketch=None)


def seen(**changes: Any) -> Sighting:
    """Another agent's output on another work, less what the test changes."""
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
