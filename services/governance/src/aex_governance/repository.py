"""Database tables of governance: holds, the log, projections of the log, and marks of rebuilds.

The log is append-only: validations by attempt, and outcomes by contract. A projection is built from the log in
generations. Readers use one generation while a rebuild may write another.
"""

from collections.abc import AsyncGenerator, Iterator, Mapping
from collections.abc import Collection as Container
from itertools import combinations
from typing import Any

from aex_governance.rules.projection_documents import (
    BandEntry,
    DomainShard,
    HashEntry,
    OutcomeEntry,
    ProfileShard,
    Projected,
    RecentShard,
    ValidationRecord,
)
from aex_models.canonical import sha256_hex
from aex_models.frozen import Frozen, Instant
from aex_models.governance import Hold, HoldCause, HoldStatus
from aex_runtime.clock import epoch_micros
from aex_runtime.store.port import Collection, Index, Query, Scalar, Store, key_of
from aex_runtime.store.table import M, Reader, Stored, Table


class HoldOfRule(Frozen):
    """Index entry that finds a hold by a rule that flagged it; a hold has one entry for each such rule."""

    hold_id: str
    rule: str
    status: HoldStatus
    cause: HoldCause
    held_at: Instant
    decided_at: Instant | None = None


class HoldTrace(Frozen):
    """Trace context of a hold's opening, which the decision continues; operators do not read it."""

    traceparent: str
    """W3C trace context."""


FILTERS = ("agent_id", "consumer_id", "cause")
"""Fields by which holds are listed; at most two at once (`collect_filters`)."""


def hold_id_of(attempt_id: str) -> str:
    """Return the id of an attempt's hold: a hash of the attempt's id, so that a repeated event finds it."""
    return f"hold_{sha256_hex(attempt_id.encode())[:32]}"


def build_rule_index_entries(hold: Hold) -> dict[str, HoldOfRule]:
    """Return the index entries of a hold by key, one for each rule that flagged it."""
    fields = hold.model_dump(include={"hold_id", "status", "cause", "held_at", "decided_at"})
    rules = dict.fromkeys(flag.rule for flag in hold.flags)
    return {key_of(f"{rule}:{hold.hold_id}"): HoldOfRule(rule=rule, **fields) for rule in rules}


def _times(hold: Hold | HoldOfRule) -> dict[str, Any]:
    decided_at = None if hold.decided_at is None else epoch_micros(hold.decided_at)
    return {"held_at": epoch_micros(hold.held_at), "decided_at": decided_at}


def _hold_index(hold: Hold) -> dict[str, Any]:
    named = {name: getattr(hold, name) for name in ("contract_id", *FILTERS)}
    return {"status": hold.status.value, **named, "cause": hold.cause.value, **_times(hold)}


def _rule_index(entry: HoldOfRule) -> dict[str, Any]:
    return {"rule": entry.rule, "status": entry.status.value, "cause": entry.cause.value, **_times(entry)}


def _queue_indexes(*equal: str) -> Iterator[Index]:
    """Yield the store indexes of the queue: waiting holds oldest first, decided holds latest first."""
    for names in ((*equal, "status"), (*equal, "status", "cause")):
        yield Index(names, "held_at")
        yield Index(names, "decided_at", "desc")


def _list_indexes() -> Iterator[Index]:
    """Yield the store indexes of lists, newest first: by up to two filters, with and without status."""
    filtered = (equal for size in range(3) for equal in combinations(FILTERS, size))
    for equal in (*filtered, ("contract_id",)):
        yield Index(equal, "held_at", "desc")
        yield Index((*equal, "status"), "held_at", "desc")


HOLDS = Table(
    Collection("governance-holds", (*_list_indexes(), *_queue_indexes())),
    Hold,
    _hold_index,
)
HOLDS_OF_RULES = Table(Collection("governance-holds-of-rules", tuple(_queue_indexes("rule"))), HoldOfRule, _rule_index)
HOLD_TRACES = Table(Collection("governance-hold-traces"), HoldTrace)


GENERATIONS_KEY = "head"
BY_KEY = (Index(),)
"""Index by document key, which every store has anyway."""
PAGE = 100


class ProjectionGenerations(Frozen):
    """Numbers of the generation that is read and, during a rebuild, of the one being built."""

    reading: int = 1
    """Generation that readers use."""
    building: int | None = None
    """Generation that a rebuild fills; None if there is no rebuild."""

    @property
    def in_use(self) -> tuple[int, ...]:
        """Return the generations to which each new record of the log is added: one, or two during a rebuild."""
        return (self.reading,) if self.building is None else (self.reading, self.building)


GENERATIONS = Table(Collection("governance-projection"), ProjectionGenerations)
PROFILES = Table(Collection("governance-profiles", BY_KEY), ProfileShard)
DOMAINS = Table(Collection("governance-domains", BY_KEY), DomainShard)
RECENT = Table(Collection("governance-paces", BY_KEY), RecentShard)
HASHES = Table(Collection("governance-hashes", BY_KEY), HashEntry)
BANDS = Table(Collection("governance-bands", BY_KEY), BandEntry)
TABLES: Mapping[type[Projected], Table[Any]] = {
    ProfileShard: PROFILES,
    DomainShard: DOMAINS,
    RecentShard: RECENT,
    HashEntry: HASHES,
    BandEntry: BANDS,
}
"""Table of each type of projection document. Keys begin with the number of the generation."""


def projected_key(generation: int, key: str) -> str:
    """Return the key of a projection document in a generation."""
    return f"{generation}-{key}"


async def read_projection_generations(reader: Reader) -> ProjectionGenerations:
    """Return the stored generation numbers.

    Before the first rebuild generation 1 is read and none is built.
    """
    found = await GENERATIONS.get(reader, GENERATIONS_KEY)
    return found.record if found else ProjectionGenerations()


async def iterate_pages_by_key_prefix(
    store: Store, table: Table[M], prefix: str
) -> AsyncGenerator[list[Stored[M]], None]:
    """Yield pages of the documents whose keys begin with the prefix, in the order of keys."""
    after = prefix
    while True:
        page = await table.find(store, after=(None, after), limit=PAGE)
        found = [each for each in page if each.document.key.startswith(prefix)]
        if found:
            yield found
        if len(found) < PAGE:
            return
        after = found[-1].document.key


_KEYS_PER_PAGE = 400
"""A transaction takes at most 500 writes."""


async def stale_keys(store: Store, table: Table[Any], retained: Container[int]) -> AsyncGenerator[list[str], None]:
    """Yield pages of the keys of documents whose generation is not in `retained`."""
    prefixes = tuple(projected_key(generation, "") for generation in retained)
    after: tuple[Scalar, str] | None = None
    while True:
        keys = [each.key for each in await store.query_page(Query(table.collection, after=after, limit=_KEYS_PER_PAGE))]
        if stale := [key for key in keys if not key.startswith(prefixes)]:
            yield stale
        if len(keys) < _KEYS_PER_PAGE:
            return
        generation = keys[-1].partition("-")[0]
        # `.` comes after `-`, and before any digit.
        after = None, f"{generation}." if keys[-1].startswith(prefixes) else keys[-1]


VALIDATIONS = Table(Collection("governance-validations", BY_KEY), ValidationRecord)
OUTCOMES = Table(Collection("governance-outcomes", BY_KEY), OutcomeEntry)


class RebuildMark(Frozen):
    """Position of a rebuild in one log, with counts."""

    after: str | None = None
    """Key of the last record read; None at the beginning."""
    read: int = 0
    """Records read so far."""
    folded: int = 0
    """Records that the rebuild added; the other records read were added by their writers."""
    is_at_end: bool = False
    """True once the whole log was read."""


REBUILD_MARKS = Table(Collection("governance-rebuild-marks"), RebuildMark)


def rebuild_mark_key(generation: int, log: str) -> str:
    """Return the key of the rebuild mark of a log and a generation."""
    return f"{generation}-{log}"


_ALL: tuple[Table[Any], ...] = (
    VALIDATIONS,
    OUTCOMES,
    HOLDS,
    HOLDS_OF_RULES,
    HOLD_TRACES,
    GENERATIONS,
    *TABLES.values(),
)
COLLECTIONS = tuple(table.collection for table in (*_ALL, REBUILD_MARKS))
"""Every collection of the service, from which Firestore's index file is generated."""
