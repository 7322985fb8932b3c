"""Audit of the projections: the stored sums against those of the journal, while the suite may go on."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager

from aex_models.settlement import LedgerTransaction
from aex_runtime.store.port import Document, Store
from aex_settlement.handlers.audit.journal import JournalVerifier, Progress, StoredBatch, read_batches
from aex_settlement.repository.audited import batch_documents, expected_key, projected_page, projected_record
from aex_settlement.repository.journal import BATCHES
from aex_settlement.repository.pages import decode
from aex_settlement.repository.projections import read_state
from aex_settlement.rules.audit_findings import MAX_LISTED, AuditFindings
from aex_settlement.rules.audit_projections import (
    AccountTotals,
    BucketSums,
    Figure,
    NamedSums,
    RecordKind,
    account_figures,
    describe_record,
    rollup_figures,
    stored_figures,
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
    """The sums of a projection up to batch `seq`, less those of the stored records read so far.

    Stored records are read by key, each page at one watermark. So a later batch counts for records that are yet to be
    read, and for no others.
    """

    def __init__(self, projection: Projection, sums: BucketSums | NamedSums, until: int = 0) -> None:
        """`until` is the last batch that `add_batch` accepts."""
        self.projection = projection
        self.until = until
        self.seq = 0
        self._sums = sums
        self._totals = AccountTotals()
        self._read_keys: dict[RecordKind, str] = {}
        self._generation = ""

    def add_batch(self, batch: JournalBatch, transactions: Sequence[LedgerTransaction]) -> None:
        if batch.seq != self.seq + 1 or batch.seq > self.until:
            return
        self.seq = batch.seq
        if self.projection is Projection.ROLLUPS:
            figures = list(rollup_figures(transactions))
        else:
            figures = list(account_figures(self._totals, batch, transactions))
        for figure in figures:
            if self._is_unread(figure):
                self._sums.add(figure.name, figure.values)

    def begin_reading(self, generation: str) -> None:
        """Begin to subtract the stored records of this generation."""
        self._generation = generation
        self._read_keys = dict.fromkeys(KINDS[self.projection], _FIRST_KEY)

    def subtract(self, kind: RecordKind, figures: Sequence[Figure], last_key: str | None) -> None:
        """Subtract a page of stored records; `last_key` is None on the last page."""
        for figure in figures:
            self._sums.add(figure.name, figure.values, -1)
        self._read_keys[kind] = _LAST_KEY if last_key is None else last_key

    def _is_unread(self, figure: Figure) -> bool:
        last = self._read_keys.get(figure.kind, _FIRST_KEY)
        return last == _FIRST_KEY or expected_key(self._generation, figure.identity) > last


class _Unread(Exception):
    """The projection could not be read at one watermark."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code, self.detail = code, detail


class ProjectionAudit:
    """Compares a projection with its recount."""

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

    async def begin(self) -> None:
        """Let the recount accept batches up to the watermark. The head is read later, to be never behind it."""
        with self._reporting_unread():
            state = await self._read_state()
            self.recount.until = state.seq if state else 0

    async def compare(self, verifier: JournalVerifier, catch_up: Callable[[], Awaitable[None]]) -> int | None:
        """Add a finding for each record that differs; return the watermark, None if it cannot be compared.

        `catch_up` verifies up to the present head.
        """
        with self._reporting_unread():
            state = await self._read_state()
            await catch_up()  # a head that is read after the watermark is never behind it
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
        """Add a finding for a watermark that contradicts the journal; `last` is the journal's last batch."""
        name = self.projection
        if state is None:
            if last > 1:
                self._findings.add("projection_missing", name, "has no watermark; start the suite, which projects it")
            return False
        if state.seq > last:
            self._findings.add("projection_ahead", name, f"is at batch {state.seq}; the journal ends at batch {last}")
            return False
        [document] = await batch_documents(self._store, state.seq, state.seq)
        batch = decode(BATCHES, document)
        if state.sealed_at != (batch.sealed_at if batch else None):
            self._findings.add("projection_wrong", name, f"its watermark differs from batch {state.seq}")
        return True

    async def _compare_records(self, verifier: JournalVerifier) -> None:
        """Find the buckets that differ, and in a second pass their records, as many as are listed."""
        await self._subtract_stored(verifier, self.recount)
        buckets = self._sums.differing_buckets()
        if buckets:
            named = NamedSums(self._key, buckets[:MAX_LISTED])
            await self._subtract_stored(verifier, ProjectionRecount(self.projection, named))
            self._report(named)

    def _report(self, named: NamedSums) -> None:
        names = {describe_record(name): differences for name, differences in named.differences().items()}
        for name, differences in sorted(names.items()):
            amounts = ", ".join(f"{-each:+d}" for each in differences)
            by = "" if name.startswith(RecordKind.PAGE) else f" by {amounts}"
            self._findings.add("projection_differs", name, f"differs from the journal{by}; {REBUILD}")
        if not names:
            self._findings.add("projection_differs", self.projection, f"differs from the journal; {REBUILD}")

    async def _subtract_stored(self, verifier: JournalVerifier, recount: ProjectionRecount) -> None:
        state = await self._advance(verifier, recount)
        if state is not None:
            recount.begin_reading(state.generation)
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
            recount.subtract(kind, self._figures(kind, generation, page), after)
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
        """Return a page at one watermark, to which the recount is advanced."""
        for attempt in range(_MAX_ATTEMPTS):
            page = await projected_page(self._store, kind, generation, after)
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
        """Read the watermark, and advance the recount to it: with the verification, or behind it."""
        state = await self._read_state()
        if state is not None:
            recount.until = max(recount.until, state.seq)
            await verifier.verify_to(state.seq)
            async for group in read_batches(self._store, recount.seq + 1, state.seq):
                for each in group:
                    if isinstance(each, StoredBatch):
                        recount.add_batch(each.batch, each.transactions())
        return state

    async def _read_state(self) -> ProjectionState | None:
        try:
            self._state = await read_state(self._store, self.projection)
        except UnreadableRecord:
            raise _Unread("projection_wrong", "its watermark cannot be read") from None
        return self._state

    def _figures(self, kind: RecordKind, generation: str, page: Sequence[Document]) -> list[Figure]:
        figures: list[Figure] = []
        for document in page:
            record = projected_record(kind, document)
            found = [] if record is None else list(stored_figures(record))
            if record is None or (found and document.key != expected_key(generation, found[0].identity)):
                detail = f"the document under this key is another record; {REBUILD}"
                self._findings.add("projection_differs", f"{kind.value} {document.key}", detail)
            figures += found
        return figures
