"""Which of the texts that share bands with one are compared with it, and which of those alike came before it."""

from collections import Counter
from collections.abc import Iterable, Sequence

from aex_governance.rules.projection.documents import BandEntry
from aex_governance.rules.sighting import Sighting
from aex_models.governance import ValidationRequest

MAX_COMPARED = 8
"""Of others' texts. The agent's own come on top: at most one in each band."""


def candidates(request: ValidationRequest, bands: Iterable[BandEntry]) -> list[Sighting]:
    """The agent's own outputs, and others', those that share the most bands first; copies are told by their hash."""
    shared: Counter[str] = Counter()
    own: dict[str, Sighting] = {}
    foreign: dict[str, Sighting] = {}
    for entry in bands:
        for each in entry.sightings:
            shared[each.attempt_id] += 1
            if each.agent_id == request.agent.id:
                own[each.attempt_id] = each
            elif _is_foreign(request, each):
                foreign[each.attempt_id] = each
    ranked = sorted(foreign.values(), key=lambda each: (-shared[each.attempt_id], *_when(each)))
    return [*sorted(own.values(), key=_when), *ranked[:MAX_COMPARED]]


def not_after_own(foreign: Iterable[Sighting], own: Iterable[Sighting]) -> list[Sighting]:
    """Others' sightings, the earliest first, without those that came later than the first of the agent's own.

    Whoever copies an author must not make copies of what the author delivers from then on.
    """
    first = min(map(_when, own), default=None)
    return sorted((each for each in foreign if first is None or _when(each) <= first), key=_when)


def received_later(request: ValidationRequest, seen: Sequence[Sighting]) -> str:
    """What a flag's message adds where all of these were received after this one, though validated before it."""
    later = all(each.seen_at > request.received_at for each in seen)
    return "; it was received after this one, though its validation came first" if later else ""


def _when(sighting: Sighting) -> tuple[object, str]:
    return sighting.seen_at, sighting.attempt_id


def _is_foreign(request: ValidationRequest, sighting: Sighting) -> bool:
    return sighting.contract_id != request.contract_id and sighting.output_hash != request.output_hash
