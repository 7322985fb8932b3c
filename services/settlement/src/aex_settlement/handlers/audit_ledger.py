"""AuditLedger: every transaction, every batch and everything that is made from them, held against each other.

What it finds: a batch or a transaction that was altered, removed, added, moved or repeated; a chain that was cut or
does not hold; bookings that do not balance, or take back what was not booked; settlements that say other than the
ledger; balances, sheets, days and rollups that are not what the journal comes to; and, against a seal that was known
before, a journal that was rewritten from some batch on with all its hashes, or whose last batches are gone.

What it cannot find: who can write to the store can do what the service can. A deposit that is put in with its row of
what waits is a deposit (those that wait are listed); a journal that was rewritten together with all that is made from
it is sound in itself, and only a seal that was kept elsewhere tells. Nothing in the ledger tells of a settlement's
criterion lines, verdict, final status, disclosure or fee rate: of these the outcome's record tells.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field

from aex_runtime.store.port import Store
from aex_settlement.deps import Deps
from aex_settlement.handlers.audit.journal_end import JournalEnd
from aex_settlement.handlers.audit.projections import ProjectionAudit
from aex_settlement.handlers.audit.recount import Recount
from aex_settlement.handlers.audit.settlements import check_settlements
from aex_settlement.handlers.audit.unsealed import check_added, check_waiting
from aex_settlement.handlers.audit.walk import Progress, Walk, name_repeated
from aex_settlement.repository.audited import batch_documents, decoded
from aex_settlement.repository.journal import BATCHES
from aex_settlement.repository.projections import read_state
from aex_settlement.rules.audit.findings import Findings, Seal
from aex_settlement.rules.broken import UnreadableRecord
from aex_settlement.rules.projected import Projection, ProjectionState

HELD = 20_000
_KEY_BYTES = 32


@dataclass(slots=True)
class Audited:
    """What an audit met, and what it found."""

    findings: Findings = field(default_factory=Findings)
    batches: int = 0
    transactions: int = 0
    settlements: int = 0
    waiting: int = 0
    """Transactions that wait to be sealed."""
    first_waiting: tuple[str, ...] = ()
    projections: dict[str, int] = field(default_factory=dict)
    """How far each projection was when it was compared; none where it was not."""
    seal: Seal | None = None
    """The last batch that the walk passed, with its hash."""


async def audit_ledger(deps: Deps, known: Sequence[Seal], progress: Progress, held: int = HELD) -> Audited:
    """Audit all that is sealed by now, beside whatever goes on. Raises `NoLedger`, `StoreUnavailable`.

    `known`: seals from before. The journal must hold these batches with these hashes. `held`: how many sums of a
    projection are held by name; where there are more, those that differ are named in a second pass.
    """
    return await _Audit(deps.store, progress, held).run(known)


class _Audit:
    def __init__(self, store: Store, progress: Progress, held: int) -> None:
        self._store = store
        self._progress = progress
        self._held = held
        self._done = Audited()
        self._findings = self._done.findings
        self._key = secrets.token_bytes(_KEY_BYTES)

    async def run(self, known: Sequence[Seal]) -> Audited:
        store, findings, done = self._store, self._findings, self._done
        recounts = [await self._recount(each) for each in Projection]  # before the head, which is never behind them
        walk = Walk(store, findings, self._key, recounts, self._progress)
        end = JournalEnd(store, findings, walk, known, max(each.until for each in recounts))
        await end.reach()
        if not findings.total:  # else their recount would be made from what somebody changed
            for recount in recounts:
                await self._compare(walk, recount, end)
        await check_added(store, findings, walk, end.catch_up, self._progress)
        await end.check_beyond()
        done.waiting, done.first_waiting = await check_waiting(store, findings, walk)
        done.settlements = await check_settlements(store, findings, walk, self._progress)
        await name_repeated(store, walk, findings)
        done.batches, done.transactions = walk.batches, walk.transactions.count
        done.seal = Seal(seq=walk.link.seq, hash=walk.link.hash) if walk.link.hash and walk.link.seq else None
        return done

    async def _recount(self, projection: Projection) -> Recount:
        """One that takes in what is projected now."""
        state = await self._state(projection)
        return Recount(projection, self._key, self._held, 0 if state is None else state.seq)

    def _again(self, projection: Projection, chosen: frozenset[int]) -> Recount:
        return Recount(projection, self._key, self._held, chosen=chosen)

    async def _state(self, projection: Projection) -> ProjectionState | None:
        try:
            stored = await read_state(self._store, projection)
        except UnreadableRecord:
            self._findings.add("projection_wrong", projection, "its watermark cannot be read")
            return None
        return stored.record if stored else None

    async def _compare(self, walk: Walk, recount: Recount, end: JournalEnd) -> None:
        name = recount.projection.value
        state = await self._state(recount.projection)
        await end.catch_up()  # the head that is read behind the watermark lies never before it
        if state is None:
            if walk.link.seq > 1:
                self._findings.add("projection_missing", name, "nothing is projected; start the suite, which does it")
            return
        if state.seq > walk.link.seq:
            detail = f"is at batch {state.seq}, and the journal ends at batch {walk.link.seq}"
            self._findings.add("projection_ahead", name, detail)
            return
        if not await self._is_of_its_batch(state):
            self._findings.add("projection_wrong", name, f"its watermark does not say what batch {state.seq} says")
        audit = ProjectionAudit(self._store, self._findings, walk, recount, self._again, self._progress)
        self._done.projections[name] = await audit.compare()

    async def _is_of_its_batch(self, state: ProjectionState) -> bool:
        if state.seq < 1:
            return state.sealed_at is None
        [document] = await batch_documents(self._store, state.seq, state.seq)
        batch = None if document is None else decoded(BATCHES, document)
        return batch is not None and batch.sealed_at == state.sealed_at
