"""Audit of the complete ledger: each transaction, each batch, and all projections.

It finds:
- batches and transactions that were altered, removed, added, moved or repeated, and a broken or cut chain;
- postings that do not balance;
- settlements and projections that differ from the ledger;
- with a seal from an earlier audit, a journal that was rewritten with all its hashes, or whose last batches are
  missing.

A forger who can write to the store can do what the service can. A forged deposit with its unsealed row passes, and is
listed as waiting. A settlement's criteria, verdict, final status, disclosure and fee rate are not in the ledger.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field

from aex_runtime.store.port import Store
from aex_settlement.deps import Deps
from aex_settlement.handlers.audit.journal import JournalVerifier, Progress, report_repeated_transactions
from aex_settlement.handlers.audit.ledger import (
    check_and_count_unsealed_transactions,
    compare_settlements_with_ledger,
    report_transactions_outside_journal,
)
from aex_settlement.handlers.audit.projections import ProjectionAudit
from aex_settlement.repository.audited import find_last_batch_number, find_next_batch_number, has_ledger_records
from aex_settlement.repository.journal import read_journal_head
from aex_settlement.rules.audit_findings import AuditFindings, Seal
from aex_settlement.rules.journal import JournalHead, UnreadableRecord
from aex_settlement.rules.projections import Projection

_MAX_ATTEMPTS = 20
_KEY_BYTES = 32


class NoLedger(Exception):
    """Error for a store without ledger records, if no seal and no projection shows that there were any."""


@dataclass(slots=True)
class AuditReport:
    """Findings of an audit, and numbers of the records that were checked."""

    findings: AuditFindings = field(default_factory=AuditFindings)
    batches: int = 0
    transactions: int = 0
    settlements: int = 0
    waiting: int = 0
    """Number of transactions that wait to be sealed."""
    first_waiting: tuple[str, ...] = ()
    """Ids of the first transactions that wait to be sealed."""
    projections: dict[str, int] = field(default_factory=dict)
    """Watermark of each projection that was compared: the last batch that it has applied."""
    seal: Seal | None = None
    """Number and hash of the last verified batch."""


class HeadCheck:
    """Check of the journal's end against its head record, the known seals, and batches beyond the head."""

    def __init__(
        self,
        store: Store,
        findings: AuditFindings,
        verifier: JournalVerifier,
        known_seals: Sequence[Seal],
        projected: int,
    ) -> None:
        """Create the check.

        `projected` is the last batch that any projection had applied before the audit read the head.
        """
        self._store = store
        self._findings = findings
        self._verifier = verifier
        self._known_seals = known_seals
        self._projected = projected
        self._has_finding = False

    async def verify_and_check_head(self) -> None:
        """Verify the journal up to its head, then check the head and the known seals.

        Raises `NoLedger` if there is no ledger at all.
        """
        last = 0
        head = await self._read_head()
        if head is None:
            last = max(await find_last_batch_number(self._store) or 0, self._projected)
            head = await self._read_head()  # the suite may have begun the journal meanwhile
        if head is None and last:
            self._add_finding(f"is missing, though batch {last} was sealed")
        elif head is None and not (self._known_seals or self._findings.total or await has_ledger_records(self._store)):
            raise NoLedger
        await self._verifier.verify_batches_up_to(head.seq if head else last)
        link = self._verifier.link
        if head is not None and link.hash is not None and (head.hash, head.sealed_at) != (link.hash, link.sealed_at):
            self._add_finding(f"differs from batch {link.seq}")
        for seal in self._known_seals:
            await self._check_seal(seal)

    async def verify_to_current_head(self) -> None:
        """Verify the batches that were sealed since the last verification."""
        head = await self._read_head()
        if head is not None:
            await self._verifier.verify_batches_up_to(head.seq)

    async def check_batches_beyond_head(self) -> None:
        """Add a finding for a batch after the head's, unless the head has moved there meanwhile."""
        for _ in range(_MAX_ATTEMPTS):
            following = await find_next_batch_number(self._store, self._verifier.link.seq)
            if following is None:
                return
            await self.verify_to_current_head()
            last = self._verifier.link.seq
            if last < following:
                detail = f"lies behind batch {last}, which the journal's head says is the last"
                self._findings.add_broken_link(following, "batch_added", detail)
                return

    async def _check_seal(self, seal: Seal) -> None:
        verifier = self._verifier
        if seal.seq > verifier.link.seq and await find_next_batch_number(self._store, seal.seq - 1) == seal.seq:
            await self.verify_to_current_head()
        found = verifier.hashes.get(seal.seq)
        if found is None:
            detail = f"was sealed with {seal.hash}, and is missing; the journal ends at batch {verifier.link.seq}"
            self._findings.add_broken_link(seal.seq, "seal_missing", detail)
        elif found != seal.hash:
            detail = f"was sealed with {seal.hash}, and has {found} now: it or one before it was rewritten"
            self._findings.add_broken_link(seal.seq, "seal_differs", detail)

    async def _read_head(self) -> JournalHead | None:
        try:
            return await read_journal_head(self._store)
        except UnreadableRecord:
            self._add_finding("cannot be read")
            return None

    def _add_finding(self, detail: str) -> None:
        if not self._has_finding:
            self._findings.add("head_wrong", "the journal's head", detail)
        self._has_finding = True


async def audit_ledger(deps: Deps, known_seals: Sequence[Seal], progress: Progress) -> AuditReport:
    """Audit the ledger while the suite may run, and return the findings.

    The journal must hold the batches of `known_seals` with these hashes. Raises `NoLedger`, `StoreUnavailable`.
    """
    store, report, key = deps.store, AuditReport(), secrets.token_bytes(_KEY_BYTES)
    findings = report.findings
    projections = [ProjectionAudit(store, findings, each, key, progress) for each in Projection]
    for each in projections:
        await each.limit_recount_to_watermark()
    recounts = [each.recount for each in projections]
    observers = [recount.add_batch for recount in recounts]
    verifier = JournalVerifier(store, findings, key, observers, progress, {seal.seq for seal in known_seals})
    head = HeadCheck(store, findings, verifier, known_seals, max(recount.until for recount in recounts))
    await head.verify_and_check_head()
    if not findings.total:  # otherwise the sums would come from an altered journal
        for each in projections:
            watermark = await each.compare_with_journal(verifier, head.verify_to_current_head)
            if watermark is not None:
                report.projections[each.projection.value] = watermark
    await report_transactions_outside_journal(store, findings, verifier, head.verify_to_current_head, progress)
    await head.check_batches_beyond_head()
    report.waiting, report.first_waiting = await check_and_count_unsealed_transactions(store, findings, verifier)
    report.settlements = await compare_settlements_with_ledger(store, findings, verifier, progress)
    await report_repeated_transactions(store, verifier, findings)
    report.batches, report.transactions = verifier.batches, verifier.transactions.count
    link = verifier.link
    report.seal = Seal(seq=link.seq, hash=link.hash) if link.hash and link.seq else None
    return report
