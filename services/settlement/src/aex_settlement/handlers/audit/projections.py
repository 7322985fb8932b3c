"""What is projected, held against a recount of the journal, while the suite may go on."""

import asyncio
from collections.abc import Callable, Sequence

from aex_runtime.store.port import Document, Store
from aex_runtime.store.table import Stored
from aex_settlement.handlers.audit.recount import KINDS, Recount
from aex_settlement.handlers.audit.sealed import Sealed, each_sealed
from aex_settlement.handlers.audit.walk import Progress, Walk
from aex_settlement.repository.audited import decoded, projected_key_of, projected_page, projected_record
from aex_settlement.repository.ledger import TRANSACTIONS
from aex_settlement.repository.projections import read_state
from aex_settlement.rules.audit.figures import Figure, Kind, stored_figures, told
from aex_settlement.rules.audit.findings import Findings
from aex_settlement.rules.audit.tally import Difference
from aex_settlement.rules.projected import Projection, ProjectionState

REBUILD = "`aex rollups rebuild` makes it anew from the journal"
_CHOSEN = 8
_TRIES = 25
_PAUSE_S = 0.02


class _Restless(Exception):
    """It moved whenever a page was read."""


class _Replaced(Exception):
    """A rebuild ended meanwhile: another generation is read."""


class ProjectionAudit:
    """Compares one projection with its recount, which the walk has filled up to where both were when it began."""

    def __init__(
        self,
        store: Store,
        findings: Findings,
        walk: Walk,
        recount: Recount,
        again: Callable[[Projection, frozenset[int]], Recount],
        progress: Progress,
    ) -> None:
        """`again` makes an empty recount of some buckets alone, for the names of what differs."""
        self._store = store
        self._findings = findings
        self._walk = walk
        self._recount = recount
        self._again = again
        self._progress = progress
        self._state: Stored[ProjectionState] | None = None

    @property
    def _projection(self) -> Projection:
        return self._recount.projection

    async def compare(self) -> int:
        """Add a finding for each record that differs. The watermark."""
        try:
            difference = await self._difference()
            if difference.buckets:
                self._recount = self._again(self._projection, frozenset(sorted(difference.buckets)[:_CHOSEN]))
                difference = await self._difference() or difference
        except _Restless:
            detail = "it moved whenever it was read, and was not compared: try again when there is less to settle"
            self._findings.add("projection_unread", self._projection, detail)
        else:
            self._tell(difference)
        return self._recount.seq

    def _tell(self, difference: Difference) -> None:
        names = {told(name): differences for name, differences in difference.names.items()}
        for name, differences in sorted(names.items()):
            detail = f"is not what the journal comes to; {REBUILD}"
            if not name.startswith(Kind.SHEET):
                least = ", ".join(f"{-each:+d}" for each in differences)
                detail = f"differs from the journal by {least}; {REBUILD}"
            self._findings.add("projection_differs", name, detail)
        if difference.buckets and not difference.names:
            self._findings.add("projection_differs", self._projection, f"is not what the journal comes to; {REBUILD}")

    async def _difference(self) -> Difference:
        for _ in range(_TRIES):
            await self._look()
            if self._state is None:
                return Difference()
            self._recount.begin_reading(self._state.record.generation)
            try:
                for kind in KINDS[self._projection]:
                    await self._read(kind, self._state.record.generation)
            except _Replaced:
                continue
            return self._recount.difference()
        raise _Restless

    async def _read(self, kind: Kind, generation: str) -> None:
        after: str | None = None
        done = 0
        while True:
            page = await self._still_page(kind, generation, after)
            last = page[-1].key if page else None
            self._recount.read(kind, self._figures(kind, generation, page), last)
            done += len(page)
            self._progress(f"{kind.value}s", done, done)
            if not page:
                return
            after = last

    async def _still_page(self, kind: Kind, generation: str, after: str | None) -> Sequence[Document]:
        """A page as of one watermark, to which the recount has gone on."""
        for tried in range(_TRIES):
            page = await projected_page(self._store, kind, generation, after)
            before = self._state
            await self._look()
            if self._state is None or self._state.record.generation != generation:
                raise _Replaced
            if before is not None and self._state.document.version == before.document.version:
                return page
            await asyncio.sleep(_PAUSE_S * tried / _TRIES)
        raise _Restless

    async def _look(self) -> None:
        """Read the watermark, and take the recount there."""
        self._state = await read_state(self._store, self._projection)
        if self._state is not None:
            await self._go_on(self._state.record.seq)

    async def _go_on(self, seq: int) -> None:
        """Take the recount to this batch: with the walk, or behind it."""
        recount = self._recount
        recount.until = max(recount.until, seq)
        await self._walk.to(seq)
        async for group in each_sealed(self._store, recount.seq + 1, seq):
            for each in group:
                if isinstance(each, Sealed):
                    found = [decoded(TRANSACTIONS, document) for document in each.documents if document is not None]
                    recount.take(each.batch, [transaction for transaction in found if transaction is not None])

    def _figures(self, kind: Kind, generation: str, page: Sequence[Document]) -> list[Figure]:
        figures: list[Figure] = []
        for document in page:
            record = projected_record(kind, document)
            made = [] if record is None else list(stored_figures(record))
            if record is None or (made and document.key != projected_key_of(generation, made[0].where)):
                detail = f"what is stored under this key is not what belongs there; {REBUILD}"
                self._findings.add("projection_differs", f"{kind.value} {document.key}", detail)
            figures += made
        return figures
