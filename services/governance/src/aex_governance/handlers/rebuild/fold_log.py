"""One log, read from its first key to its last and folded into the generation that is being made."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import structlog

from aex_governance.handlers.rebuild.draft import Draft
from aex_governance.handlers.rebuild.rebuilder import Rebuild
from aex_governance.repository.rebuild_marks import REBUILD_MARKS, RebuildMark, mark_key
from aex_models.backoff import Backoff
from aex_runtime.failures import describe_failure
from aex_runtime.store.port import Contention, InvalidDocument, Transaction
from aex_runtime.store.table import Stored, Table

_PAGE = 200
_MOST_DOCUMENTS = 400
"""Of one transaction, more or less: a record changes about twenty at most, and a store takes 500 writes."""
_TRIES = 12
_PAUSE = Backoff(first=timedelta(milliseconds=20), cap=timedelta(seconds=2))
_KEYS = 16**4
"""Keys begin with four digits of a hash: how far one is tells how much of the log lies before it."""
_log = structlog.get_logger("aex_governance.fold_log")
Records = Sequence[Stored[Any]]


@dataclass(slots=True)
class FoldLog:
    """Folds a log once: each record either listed the generation when it was written, or is folded here.

    The mark moves with what it stands for, so that whoever goes on after a kill neither leaves out nor adds twice.
    """

    rebuild: Rebuild
    generation: int
    log: str
    """What it is called."""
    table: Table[Any]
    room: int = _MOST_DOCUMENTS
    """Less while others keep writing the same documents."""

    async def run(self) -> RebuildMark:
        """Read to the end. Raises `LeaseLost`, `StoreUnavailable`."""
        stored = await REBUILD_MARKS.get(self.rebuild.by.store, self._key)
        mark = stored.record if stored else RebuildMark()
        while not mark.is_at_end:
            after = None if mark.after is None else (None, mark.after)
            page = await self.table.find(self.rebuild.by.store, after=after, limit=_PAGE)
            mark = await self._page_folded(mark, page)
        self.rebuild.by.tell(self.log, mark.read, mark.read)
        return mark

    @property
    def _key(self) -> str:
        return mark_key(self.generation, self.log)

    async def _page_folded(self, mark: RebuildMark, page: Records) -> RebuildMark:
        left = list(page)
        while left:
            moved = await self._some_folded(mark, left)
            left = [each for each in left if moved.after is not None and each.document.key > moved.after]
            mark = moved
            self._tell(mark)
        if len(page) < _PAGE:
            return await self._written(mark, mark.model_copy(update={"is_at_end": True}), Draft(self.generation))
        return mark

    async def _some_folded(self, mark: RebuildMark, records: Records) -> RebuildMark:
        """As many of the records as one transaction takes. Raises `Contention` after bounded tries."""
        tried = 0
        while True:
            moved, draft = self._drafted(mark, records)
            try:
                there = await self._written(mark, moved, draft)
            except (Contention, InvalidDocument) as error:
                tried += 1
                if tried == _TRIES:
                    raise
                await self._yield_to_others(error, tried)
            else:
                self.room = min(self.room * 2, _MOST_DOCUMENTS)
                return there

    async def _yield_to_others(self, error: Exception, tried: int) -> None:
        """They write the same documents, or these are too large for one transaction: fewer at once, and later."""
        self.room = max(self.room // 2, 1)
        delay = _PAUSE.delay(tried, self.rebuild.by.ids.jitter())
        _log.info("fold_lost", log=self.log, reason=describe_failure(error), tried=tried, of=_TRIES, room=self.room)
        await asyncio.sleep(delay.total_seconds())

    def _drafted(self, mark: RebuildMark, records: Records) -> tuple[RebuildMark, Draft]:
        draft, read, folded, after = Draft(self.generation), 0, 0, mark.after
        for stored in records:
            if len(draft) >= self.room:
                break
            if self.generation not in stored.record.generations:
                draft.take(stored.record)
                folded += 1
            read += 1
            after = stored.document.key
        return RebuildMark(after=after, read=mark.read + read, folded=mark.folded + folded), draft

    async def _written(self, before: RebuildMark, moved: RebuildMark, draft: Draft) -> RebuildMark:
        """Where the mark is then: `moved`, or further where this was written before and its answer was lost."""
        await self.rebuild.held.renewed()

        async def write(transaction: Transaction) -> RebuildMark:
            await self.rebuild.held.guard(transaction)
            stored = await REBUILD_MARKS.get(transaction, self._key)
            if stored is not None and stored.record != before:
                return stored.record
            for table, key, document in await draft.read(transaction):
                transaction.put(table.collection, key, *table.encode(document))
            transaction.put(REBUILD_MARKS.collection, self._key, *REBUILD_MARKS.encode(moved))
            return moved

        return await self.rebuild.by.store.transact(write)

    def _tell(self, mark: RebuildMark) -> None:
        share = (int((mark.after or "ffff")[:4], 16) + 1) / _KEYS
        self.rebuild.by.tell(self.log, mark.read, max(round(mark.read / share), mark.read))
