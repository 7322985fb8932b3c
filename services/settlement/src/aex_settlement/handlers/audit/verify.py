"""The ledger audit: every transaction, every batch, and everything projected from them.

It finds batches and transactions that were altered, removed, added, moved or repeated, and a broken or cut chain. It
finds postings that do not balance, and settlements and projections that differ from the ledger. With a seal from before
it finds a journal that was rewritten with all its hashes, or whose last batches are gone.

Who can write to the store can do what the service can: a forged deposit with its unsealed row is a deposit, and is
listed. The ledger does not hold a settlement's criterion lines, verdict, final status, disclosure or fee rate.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field

from aex_runtime.store.port import Store
from aex_settlement.deps import Deps
from aex_settlement.handlers.audit.journal import JournalVerifier, Progress, report_repeated
from aex_settlement.handlers.audit.ledger import check_added, check_settlements, check_unsealed
from aex_settlement.handlers.audit.projections import ProjectionAudit
from aex_settlement.repository.audited import has_ledger_records, last_batch_number, next_batch_number
from aex_settlement.repository.journal import read_head
from aex_settlement.rules.audit_findings import AuditFindings, Seal
from aex_settlement.rules.journal import JournalHead, UnreadableRecord
from aex_settlement.rules.projections import Projection

_MAX_ATTEMPTS = 20
_KEY_BYTES = 32


class NoLedger(Exception):
    """A store without any ledger record, and without a seal or projection that names one."""


@dataclass(slots=True)
class AuditReport:
    """The result of an audit."""

    findings: AuditFindings = field(default_factory=AuditFindings)
    batches: int = 0
    transactions: int = 0
    settlements: int = 0
    waiting: int = 0
    """Transactions that wait to be sealed."""
    first_waiting: tuple[str, ...] = ()
    projections: dict[str, int] = field(default_factory=dict)
    """The watermark of each projection that was compared."""
    seal: Seal | None = None
    """The last verified batch with its hash."""


class HeadCheck:
    """Verifies the journal up to its head, and compares its end with everything that names it."""

    def __init__(
        self,
        store: Store,
        findings: AuditFindings,
        verifier: JournalVerifier,
        known_seals: Sequence[Seal],
        projected: int,
    ) -> None:
        """`projected` is the last batch that a projection had applied before the head is read."""
        self._store = store
        self._findings = findings
        self._verifier = verifier
        self._known_seals = known_seals
        self._projected = projected
        self._has_finding = False

    async def verify_to_head(self) -> None:
        """Verify up to the head, and check the head and the known seals. Raises `NoLedger`."""
        last = 0
        head = await self._read_head()
        if head is None:
            last = max(await last_batch_number(self._store) or 0, self._projected)
            head = await self._read_head()  # the suite may have begun the journal meanwhile
        if head is None and last:
            self._add_finding(f"is missing, though batch {last} was sealed")
        elif head is None and not (self._known_seals or self._findings.total or await has_ledger_records(self._store)):
            raise NoLedger
        await self._verifier.verify_to(head.seq if head else last)
        link = self._verifier.link
        if head is not None and link.hash is not None and (head.hash, head.sealed_at) != (link.hash, link.sealed_at):
            self._add_finding(f"differs from batch {link.seq}")
        for seal in self._known_seals:
            await self._check_seal(seal)

    async def catch_up(self) -> None:
        head = await self._read_head()
        if head is not None:
            await self._verifier.verify_to(head.seq)

    async def check_beyond(self) -> None:
        """Add a finding for a batch behind the last one, unless the head has moved there meanwhile."""
        for _ in range(_MAX_ATTEMPTS):
            following = await next_batch_number(self._store, self._verifier.link.seq)
            if following is None:
                return
            await self.catch_up()
            last = self._verifier.link.seq
            if last < following:
                detail = f"lies behind batch {last}, which the journal's head says is the last"
                self._findings.add_broken_link(following, "batch_added", detail)
                return

    async def _check_seal(self, seal: Seal) -> None:
        verifier = self._verifier
        if seal.seq > verifier.link.seq and await next_batch_number(self._store, seal.seq - 1) == seal.seq:
            await self.catch_up()
        found = verifier.hashes.get(seal.seq)
        if found is None:
            detail = f"was sealed with {seal.hash}, and is missing; the journal ends at batch {verifier.link.seq}"
            self._findings.add_broken_link(seal.seq, "seal_missing", detail)
        elif found != seal.hash:
            detail = f"was sealed with {seal.hash}, and has {found} now: it or one before it was rewritten"
            self._findings.add_broken_link(seal.seq, "seal_differs", detail)

    async def _read_head(self) -> JournalHead | None:
        try:
            return await read_head(self._store)
        except UnreadableRecord:
            self._add_finding("cannot be read")
            return None

    def _add_finding(self, detail: str) -> None:
        if not self._has_finding:
            self._findings.add("head_wrong", "the journal's head", detail)
        self._has_finding = True


async def audit_ledger(deps: Deps, known_seals: Sequence[Seal], progress: Progress) -> AuditReport:
    """Audit all that is sealed, while the suite may go on. Raises `NoLedger`, `StoreUnavailable`.

    The journal must hold the batches of `known_seals` with these hashes.
    """
    store, report, key = deps.store, AuditReport(), secrets.token_bytes(_KEY_BYTES)
    findings = report.findings
    projections = [ProjectionAudit(store, findings, each, key, progress) for each in Projection]
    for each in projections:
        await each.begin()
    recounts = [each.recount for each in projections]
    observers = [recount.add_batch for recount in recounts]
    verifier = JournalVerifier(store, findings, key, observers, progress, {seal.seq for seal in known_seals})
    head = HeadCheck(store, findings, verifier, known_seals, max(recount.until for recount in recounts))
    await head.verify_to_head()
    if not findings.total:  # otherwise the sums would come from an altered journal
        for each in projections:
            watermark = await each.compare(verifier, head.catch_up)
            if watermark is not None:
                report.projections[each.projection.value] = watermark
    await check_added(store, findings, verifier, head.catch_up, progress)
    await head.check_beyond()
    report.waiting, report.first_waiting = await check_unsealed(store, findings, verifier)
    report.settlements = await check_settlements(store, findings, verifier, progress)
    await report_repeated(store, verifier, findings)
    report.batches, report.transactions = verifier.batches, verifier.transactions.count
    link = verifier.link
    report.seal = Seal(seq=link.seq, hash=link.hash) if link.hash and link.seq else None
    return report
