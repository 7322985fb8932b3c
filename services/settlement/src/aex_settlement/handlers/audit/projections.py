"""Audit of the projections: comparison of the stored records with sums recomputed from the journal.

A projection (balances, account pages, days or rollups) is derived from the journal and may change while it is audited.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager

from aex_models.settlement import LedgerTransaction
from aex_runtime.store.port import Document, Store
from aex_settlement.handlers.audit.journal import JournalVerifier, Progress, StoredBatch, iterate_batch_groups
from aex_settlement.repository.audited import (
    decode_projected,
    expected_record_key,
    read_batch_documents,
    read_projected_page,
)
from aex_settlement.repository.journal import BATCHES
from aex_settlement.repository.pages import decode_or_none
from aex_settlement.repository.projections import read_projection_state
from aex_settlement.rules.audit_findings import MAX_LISTED, AuditFindings
from aex_settlement.rules.audit_projections import (
    AccountTotals,
    BucketSums,
    Figure,
    NamedSums,
    RecordKind,
    compute_account_figures_and_update_totals,
    compute_rollup_figures,
    describe_record,
    extract_figures,
)
from aex_settlement.rules.journal import JournalBatch, UnreadableRecord
from aex_settlement.rules.projections import Projection, ProjectionState

KINDS = {
    Projection.ACCOUNTS: (RecordKind.BALANCE, RecordKind.PAGE, RecordKind.DAY),
    Projection.ROLLUPS: (RecordKind.ROLLUP,),
}
REBUILD = "`aex rollups rebuild` builds it from the journal"
_FIRST_KEY, _LAST_KEY = "", "\uffff"
_MAX_ATTEMPTS = 25
_PAUSE_S = 0.02


class ProjectionRecount:
    """Sums computed from the journal up to batch `seq`, less the stored records read so far.

    Stored records are read by key. A batch added meanwhile counts only for records not read yet. In the end each sum
    is zero if the projection is correct.
    """

    def __init__(self, projection: Projection, sums: BucketSums | NamedSums, until: int = 0) -> None:
        """Create a recount before the first batch; `until` is the last batch that `add_batch` accepts."""
        self.projection = projection
        self.until = until
        self.seq = 0
        self._sums = sums
        self._totals = AccountTotals()
        self._read_keys: dict[RecordKind, str] = {}
        self._generation = ""

    def add_batch(self, batch: JournalBatch, transactions: Sequence[LedgerTransaction]) -> None:
        """Add the sums of the next batch; ignore a batch that is not the next, or is after `until`."""
        if batch.seq != self.seq + 1 or batch.seq > self.until:
            return
        self.seq = batch.seq
        if self.projection is Projection.ROLLUPS:
            figures = list(compute_rollup_figures(transactions))
        else:
            figures = list(compute_account_figures_and_update_totals(self._totals, batch, transactions))
        for figure in figures:
            if self._is_unread(figure):
                self._sums.add(figure.name, figure.values)

    def start_subtracting_stored_records(self, generation: str) -> None:
        """Start the subtraction of the stored records of this generation."""
        self._generation = generation
        self._read_keys = dict.fromkeys(KINDS[self.projection], _FIRST_KEY)

    def subtract_page(self, kind: RecordKind, figures: Sequence[Figure], last_key: str | None) -> None:
        """Subtract a page of stored records of one kind; `last_key` is None after the last page."""
        for figure in figures:
            self._sums.add(figure.name, figure.values, -1)
        self._read_keys[kind] = _LAST_KEY if last_key is None else last_key

    def _is_unread(self, figure: Figure) -> bool:
        last = self._read_keys.get(figure.kind, _FIRST_KEY)
        return last == _FIRST_KEY or expected_record_key(self._generation, figure.identity) > last


class _Unread(Exception):
    """Error of a projection that could not be read at one watermark; it becomes a finding."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code, self.detail = code, detail


class ProjectionAudit:
    """Audit of one projection: its stored records are compared with sums recomputed from the journal."""

    def __init__(
        self, store: Store, findings: AuditFindings, projection: Projection, key: bytes, progress: Progress
    ) -> None:
        self.projection = projection
        self._sums = BucketSums(key)
        self.recount = ProjectionRecount(projection, self._sums)
        self._store = store
        self._findings = findings
        self._key = key
        self._progress = progress
        self._state: ProjectionState | None = None

    async def limit_recount_to_watermark(self) -> None:
        """Read the watermark; let the recount accept batches up to the last one that was applied."""
        with self._reporting_unread():
            state = await self._read_state()
            self.recount.until = state.seq if state else 0

    async def compare_with_journal(
        self, verifier: JournalVerifier, verify_to_current_head: Callable[[], Awaitable[None]]
    ) -> int | None:
        """Add a finding for each stored record that differs from the journal, and return the watermark.

        Returns None if the projection cannot be compared. That is a finding too, unless no batch was applied yet.
        """
        with self._reporting_unread():
            state = await self._read_state()
            await verify_to_current_head()  # a head that is read after the watermark is never behind it
            if await self._is_comparable(state, verifier.link.seq):
                await self._compare_records(verifier)
                return self.recount.seq
        return None

    @contextmanager
    def _reporting_unread(self) -> Iterator[None]:
        try:
            yield
        except _Unread as unread:
            self._findings.add(unread.code, self.projection, unread.detail)

    async def _is_comparable(self, state: ProjectionState | None, last: int) -> bool:
        """Return whether the watermark is in the journal, which ends at batch `last`; add a finding if not."""
        name = self.projection
        if state is None:
            if last > 1:
                self._findings.add("projection_missing", name, "has no watermark; start the suite, which projects it")
            return False
        if state.seq > last:
            self._findings.add("projection_ahead", name, f"is at batch {state.seq}; the journal ends at batch {last}")
            return False
        [document] = await read_batch_documents(self._store, state.seq, state.seq)
        batch = decode_or_none(BATCHES, document)
        if state.sealed_at != (batch.sealed_at if batch else None):
            self._findings.add("projection_wrong", name, f"its watermark differs from batch {state.seq}")
        return True

    async def _compare_records(self, verifier: JournalVerifier) -> None:
        """Compare the stored records; a second pass finds the names of those that differ."""
        await self._subtract_stored(verifier, self.recount)
        buckets = self._sums.find_nonzero_buckets()
        if buckets:
            named = NamedSums(self._key, buckets[:MAX_LISTED])
            await self._subtract_stored(verifier, ProjectionRecount(self.projection, named))
            self._report(named)

    def _report(self, named: NamedSums) -> None:
        names = {describe_record(name): differences for name, differences in named.nonzero_sums().items()}
        for name, differences in sorted(names.items()):
            amounts = ", ".join(f"{-each:+d}" for each in differences)
            by = "" if name.startswith(RecordKind.PAGE) else f" by {amounts}"
            self._findings.add("projection_differs", name, f"differs from the journal{by}; {REBUILD}")
        if not names:
            self._findings.add("projection_differs", self.projection, f"differs from the journal; {REBUILD}")

    async def _subtract_stored(self, verifier: JournalVerifier, recount: ProjectionRecount) -> None:
        state = await self._advance(verifier, recount)
        if state is not None:
            recount.start_subtracting_stored_records(state.generation)
            for kind in KINDS[self.projection]:
                await self._subtract_kind(verifier, recount, kind, state.generation)

    async def _subtract_kind(
        self, verifier: JournalVerifier, recount: ProjectionRecount, kind: RecordKind, generation: str
    ) -> None:
        after: str | None = None
        done = 0
        while True:
            page = await self._read_page(verifier, recount, kind, generation, after)
            after = page[-1].key if page else None
            recount.subtract_page(kind, self._figures(kind, generation, page), after)
            done += len(page)
            self._progress(f"{kind.value}s", done, done)
            if not page:
                return

    async def _read_page(
        self,
        verifier: JournalVerifier,
        recount: ProjectionRecount,
        kind: RecordKind,
        generation: str,
        after: str | None,
    ) -> Sequence[Document]:
        """Return a page of stored records read at one watermark, to which the recount is advanced."""
        for attempt in range(_MAX_ATTEMPTS):
            page = await read_projected_page(self._store, kind, generation, after)
            before, state = self._state, await self._advance(verifier, recount)
            if state is None or state.generation != generation:
                detail = "a rebuild replaced it, and it was not compared: retry after the rebuild"
                raise _Unread("projection_unread", detail)
            if state == before:
                return page
            await asyncio.sleep(_PAUSE_S * attempt / _MAX_ATTEMPTS)
        detail = "it moved whenever it was read, and was not compared: retry when there is less to settle"
        raise _Unread("projection_unread", detail)

    async def _advance(self, verifier: JournalVerifier, recount: ProjectionRecount) -> ProjectionState | None:
        """Read the watermark, and verify and add the batches up to it."""
        state = await self._read_state()
        if state is not None:
            recount.until = max(recount.until, state.seq)
            await verifier.verify_batches_up_to(state.seq)
            async for group in iterate_batch_groups(self._store, recount.seq + 1, state.seq):
                for each in group:
                    if isinstance(each, StoredBatch):
                        recount.add_batch(each.batch, each.decode_transactions())
        return state

    async def _read_state(self) -> ProjectionState | None:
        try:
            self._state = await read_projection_state(self._store, self.projection)
        except UnreadableRecord:
            raise _Unread("projection_wrong", "its watermark cannot be read") from None
        return self._state

    def _figures(self, kind: RecordKind, generation: str, page: Sequence[Document]) -> list[Figure]:
        figures: list[Figure] = []
        for document in page:
            record = decode_projected(kind, document)
            found = [] if record is None else list(extract_figures(record))
            if record is None or (found and document.key != expected_record_key(generation, found[0].identity)):
                detail = f"the document under this key is another record; {REBUILD}"
                self._findings.add("projection_differs", f"{kind.value} {document.key}", detail)
            figures += found
        return figures
