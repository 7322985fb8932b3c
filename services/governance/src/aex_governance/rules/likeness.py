"""Which of the texts that share bands with one are worth comparing with it."""

from collections import Counter
from collections.abc import Iterable

from aex_governance.rules.projection.documents import BandEntry
from aex_governance.rules.sighting import Sighting
from aex_models.governance import ValidationRequest

MAX_COMPARED = 8


def candidates(request: ValidationRequest, bands: Iterable[BandEntry]) -> list[Sighting]:
    """Other agents' outputs on other works, those that share the most bands first; copies are told by their hash."""
    shared: Counter[str] = Counter()
    sightings: dict[str, Sighting] = {}
    for entry in bands:
        for each in entry.sightings:
            if _is_foreign(request, each):
                shared[each.attempt_id] += 1
                sightings[each.attempt_id] = each
    ranked = sorted(sightings.values(), key=lambda each: (-shared[each.attempt_id], each.seen_at, each.attempt_id))
    return ranked[:MAX_COMPARED]


def _is_foreign(request: ValidationRequest, sighting: Sighting) -> bool:
    return (
        sighting.agent_id != request.agent.id
        and sighting.work_id != request.work_id
        and sighting.contract_id != request.contract_id
        and sighting.output_hash != request.output_hash
    )
