"""Rebuild step that adds the records of one log to a new generation of the projections.

A generation is one full build of the projections. Records are read by key, in pages.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar

import structlog

from aex_governance.repository import (
    OUTCOMES,
    REBUILD_MARKS,
    TABLES,
    VALIDATIONS,
    RebuildMark,
    projected_key,
    rebuild_mark_key,
)
from aex_governance.rules.projection_documents import LogRecord, Projected
from aex_governance.rules.projection_increments import apply_increment, compute_increments
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
"""Target for the documents written in one transaction. One record adds up to about twenty; a store takes 500 writes."""
_MAX_ATTEMPTS = 12
_PAUSE = Backoff(first=timedelta(milliseconds=20), cap=timedelta(seconds=2))
_KEYS = 16**4
"""Values of the first four hexadecimal digits of a key, from which the share of the log already read is estimated."""
_log = structlog.get_logger("aex_governance.fold_log")


@dataclass(frozen=True, slots=True)
class Rebuilder:
    """Collaborators of a rebuild: store, clock, ids and progress callback.

    It needs no fraud rules, because the log holds their decisions.
    """

    store: Store
    clock: Clock
    ids: Ids
    report: Callable[[str, int, int], None]
    """Progress callback: log, records done, and their total, which is an estimate until the end of the log."""


class ProjectionChanges:
    """Changes to the documents of a generation, collected from several records; one change per document."""

    def __init__(self, generation: int) -> None:
        self._generation = generation
        self._changes: dict[type[Projected], dict[str, Projected]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._changes.values()))

    def add(self, record: LogRecord) -> None:
        """Add the changes that a record of the log makes."""
        for each in compute_increments(record):
            changes = self._changes.setdefault(each.kind, {})
            key = projected_key(self._generation, each.key)
            changes[key] = apply_increment(changes.get(key), each)

    async def build_merged_documents(self, transaction: Transaction) -> list[tuple[Table[Any], str, Projected]]:
        """Return each changed document with its table and key: the stored one merged with its change."""
        found: list[tuple[Table[Any], str, Projected]] = []
        for kind, changes in self._changes.items():
            table: Table[Any] = TABLES[kind]
            stored: Sequence[Projected | None] = await table.get_many(transaction, list(changes))
            for (key, change), document in zip(changes.items(), stored, strict=True):
                found.append((table, key, change if document is None else merge_documents(document, change)))
        return found


@dataclass(slots=True)
class LogFold:
    """Fold of one log: adds each record of the log to a generation exactly once.

    A record that lists the generation was added to it when it was logged, and is skipped. A stored mark moves in the
    transaction that adds the records before it, so an interrupted fold resumes there.
    """

    TABLES: ClassVar[Mapping[str, Table[Any]]] = {"validations": VALIDATIONS, "outcomes": OUTCOMES}
    rebuilder: Rebuilder
    lease: RebuildLease
    generation: int
    log: str
    max_documents: int = _MAX_DOCUMENTS
    """Documents per transaction. It is halved after a conflict and doubled after a success."""

    async def fold_remaining_records(self) -> RebuildMark:
        """Add the records from the stored mark to the end of the log, and return the final mark.

        Raises `LeaseLost`, `StoreUnavailable`, and `Contention` after 12 conflicts on one page.
        """
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
        return rebuild_mark_key(self.generation, self.log)

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
        """Add as many of the records as one transaction takes. Raises `Contention` after 12 conflicts."""
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
        """Wait before the next try, and halve the number of documents per transaction.

        Called after a conflict with other writers, or for documents too large for one transaction.
        """
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
        """Write the changes and the mark, and return the stored mark.

        If this commit was made before and its answer was lost, nothing is written and the stored mark is returned.
        """

        async def write(transaction: Transaction) -> RebuildMark:
            stored = await REBUILD_MARKS.get(transaction, self._key)
            if stored is not None and stored.record != before:
                return stored.record
            for table, key, document in await changes.build_merged_documents(transaction):
                transaction.put(table.collection, key, *table.encode(document))
            transaction.put(REBUILD_MARKS.collection, self._key, *REBUILD_MARKS.encode(moved))
            return moved

        return await self.lease.transact_under_lease(write)

    def _report(self, mark: RebuildMark) -> None:
        share = (int((mark.after or "ffff")[:4], 16) + 1) / _KEYS
        self.rebuilder.report(self.log, mark.read, max(round(mark.read / share), mark.read))
