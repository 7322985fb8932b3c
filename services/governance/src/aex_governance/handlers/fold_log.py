"""Folding a log into the generation that is being built, from its first key to its last."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar

import structlog

from aex_governance.repository import OUTCOMES, REBUILD_MARKS, TABLES, VALIDATIONS, RebuildMark, mark_key, projected_key
from aex_governance.rules.projection_documents import LogRecord, Projected
from aex_governance.rules.projection_increments import apply_increment, record_increments
from aex_governance.rules.projection_merging import merge_documents
from aex_models.backoff import Backoff
from aex_runtime.clock import Clock
from aex_runtime.generations import RebuildLease
from aex_runtime.ids import Ids
from aex_runtime.logs import describe_failure
from aex_runtime.store.port import Contention, InvalidDocument, Store, Transaction
from aex_runtime.store.table import Stored, Table

_PAGE = 200
_MAX_DOCUMENTS = 400
"""Documents of one transaction, or a few more: a record changes at most about twenty, and a store takes 500 writes."""
_MAX_ATTEMPTS = 12
_PAUSE = Backoff(first=timedelta(milliseconds=20), cap=timedelta(seconds=2))
_KEYS = 16**4
"""Keys begin with four hexadecimal digits of a hash, which tell the share of the log before a key."""
_log = structlog.get_logger("aex_governance.fold_log")


@dataclass(frozen=True, slots=True)
class Rebuilder:
    """The collaborators of a rebuild. It needs no rules: the log holds their decisions."""

    store: Store
    clock: Clock
    ids: Ids
    report: Callable[[str, int, int], None]
    """Receives the log, the records done, and their total, which is an estimate until the end."""


class ProjectionChanges:
    """Changes by table and key: one for each document, however many records add to it."""

    def __init__(self, generation: int) -> None:
        self._generation = generation
        self._changes: dict[type[Projected], dict[str, Projected]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._changes.values()))

    def add(self, record: LogRecord) -> None:
        """Add the changes of a record."""
        for each in record_increments(record):
            changes = self._changes.setdefault(each.kind, {})
            key = projected_key(self._generation, each.key)
            changes[key] = apply_increment(changes.get(key), each)

    async def documents(self, transaction: Transaction) -> list[tuple[Table[Any], str, Projected]]:
        """Return the stored documents with the changes."""
        found: list[tuple[Table[Any], str, Projected]] = []
        for kind, changes in self._changes.items():
            table: Table[Any] = TABLES[kind]
            stored: Sequence[Projected | None] = await table.get_many(transaction, list(changes))
            for (key, change), document in zip(changes.items(), stored, strict=True):
                found.append((table, key, change if document is None else merge_documents(document, change)))
        return found


@dataclass(slots=True)
class FoldLog:
    """Folds a log once: each record either named the generation when it was logged, or is folded here.

    The mark moves in the transaction that folds the records before it, so that a resumed rebuild counts each once.
    """

    TABLES: ClassVar[Mapping[str, Table[Any]]] = {"validations": VALIDATIONS, "outcomes": OUTCOMES}
    rebuilder: Rebuilder
    lease: RebuildLease
    generation: int
    log: str
    max_documents: int = _MAX_DOCUMENTS
    """Lower while others keep writing the same documents."""

    async def run(self) -> RebuildMark:
        """Fold to the end of the log. Raises `LeaseLost`, `StoreUnavailable`."""
        store, table = self.rebuilder.store, self.TABLES[self.log]
        stored = await REBUILD_MARKS.get(store, self._key)
        mark = stored.record if stored else RebuildMark()
        while not mark.is_at_end:
            after = None if mark.after is None else (None, mark.after)
            mark = await self._fold_page(mark, await table.find(store, after=after, limit=_PAGE))
        self.rebuilder.report(self.log, mark.read, mark.read)
        return mark

    @property
    def _key(self) -> str:
        return mark_key(self.generation, self.log)

    async def _fold_page(self, mark: RebuildMark, page: Sequence[Stored[Any]]) -> RebuildMark:
        remaining = list(page)
        while remaining:
            mark = await self._fold_part(mark, remaining)
            remaining = [each for each in remaining if mark.after is not None and each.document.key > mark.after]
            self._report(mark)
        if len(page) < _PAGE:
            at_end = mark.model_copy(update={"is_at_end": True})
            return await self._commit(mark, at_end, ProjectionChanges(self.generation))
        return mark

    async def _fold_part(self, mark: RebuildMark, records: Sequence[Stored[Any]]) -> RebuildMark:
        """Fold as many records as one transaction takes. Raises `Contention` after bounded attempts."""
        attempt = 0
        while True:
            moved, changes = self._collect(mark, records)
            try:
                committed = await self._commit(mark, moved, changes)
            except (Contention, InvalidDocument) as error:
                attempt += 1
                if attempt == _MAX_ATTEMPTS:
                    raise
                await self._back_off_from(error, attempt)
            else:
                self.max_documents = min(self.max_documents * 2, _MAX_DOCUMENTS)
                return committed

    async def _back_off_from(self, error: Exception, attempt: int) -> None:
        """Wait, and fold fewer documents: others write them too, or they are too large for one transaction."""
        self.max_documents = max(self.max_documents // 2, 1)
        delay_s = _PAUSE.delay(attempt, self.rebuilder.ids.jitter()).total_seconds()
        _log.info(
            "fold_conflicted",
            log=self.log,
            reason=describe_failure(error),
            attempt=attempt,
            max_attempts=_MAX_ATTEMPTS,
            max_documents=self.max_documents,
        )
        await asyncio.sleep(delay_s)

    def _collect(self, mark: RebuildMark, records: Sequence[Stored[Any]]) -> tuple[RebuildMark, ProjectionChanges]:
        changes, read, folded, after = ProjectionChanges(self.generation), 0, 0, mark.after
        for stored in records:
            if len(changes) >= self.max_documents:
                break
            if self.generation not in stored.record.generations:
                changes.add(stored.record)
                folded += 1
            read += 1
            after = stored.document.key
        return RebuildMark(after=after, read=mark.read + read, folded=mark.folded + folded), changes

    async def _commit(self, before: RebuildMark, moved: RebuildMark, changes: ProjectionChanges) -> RebuildMark:
        """Write the changes and return the mark: a later one if this commit was made and its answer lost."""

        async def write(transaction: Transaction) -> RebuildMark:
            stored = await REBUILD_MARKS.get(transaction, self._key)
            if stored is not None and stored.record != before:
                return stored.record
            for table, key, document in await changes.documents(transaction):
                transaction.put(table.collection, key, *table.encode(document))
            transaction.put(REBUILD_MARKS.collection, self._key, *REBUILD_MARKS.encode(moved))
            return moved

        return await self.lease.transact(write)

    def _report(self, mark: RebuildMark) -> None:
        share = (int((mark.after or "ffff")[:4], 16) + 1) / _KEYS
        self.rebuilder.report(self.log, mark.read, max(round(mark.read / share), mark.read))
