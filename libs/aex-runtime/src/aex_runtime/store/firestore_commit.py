"""What one commit says to Firestore: the writes of a transaction folded to one a place, with what must be so. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from aex_runtime.store.buffer import Place, Write
from aex_runtime.store.limits import is_name


@dataclass(frozen=True, slots=True)
class Step:
    """What happens at one place: a write, or nothing but a check."""

    place: Place
    write: Write | None
    version: int | None
    """What must be there: a version, 0 for nothing, None for anything."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A commit."""

    steps: tuple[Step, ...]
    created: tuple[Place, ...]
    """Places of creates that nothing was known of: whether they are free shows at the commit."""
    taken: Place | None
    """The place of a create that surely meets a document, unless something expected has changed."""


def current_versions(expected: Iterable[tuple[Place, int]]) -> dict[Place, int] | None:
    """The version expected at each place; None where two are, of which one must be wrong.

    Places that nothing can be stored at are left out: what was not found there never will be.
    """
    versions: dict[Place, int] = {}
    for place, version in expected:
        if versions.setdefault(place, version) != version:
            return None
    return {place: version for place, version in versions.items() if version or all(map(is_name, place))}


def plan_of(versions: dict[Place, int], writes: Sequence[Write]) -> Plan:
    """The commit that does what the writes do one after the other.

    The last write of a place wins. A create needs nothing there: as known from a read or an earlier write of the same
    transaction, else as a condition of the commit.
    """
    last: dict[Place, Write] = {}
    created: list[Place] = []
    for write in writes:
        if write.kind == "create":
            there = _is_there(write.place, versions, last)
            if there:
                return Plan((), (), write.place)
            if there is None:
                created.append(write.place)
        last[write.place] = write
    conditions = versions | dict.fromkeys(created, 0)
    written = [Step(place, write, conditions.get(place)) for place, write in last.items()]
    checked = [Step(place, None, version) for place, version in versions.items() if place not in last]
    return Plan((*written, *checked), tuple(created), None)


def _is_there(place: Place, versions: dict[Place, int], last: dict[Place, Write]) -> bool | None:
    if place in last:
        return last[place].kind != "delete"
    return versions[place] > 0 if place in versions else None
