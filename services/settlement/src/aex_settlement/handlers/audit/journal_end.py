"""Where the journal ends: what its head says, what was known before, and what lies behind."""

from collections.abc import Sequence

from aex_runtime.store.port import Store
from aex_settlement.handlers.audit.walk import Walk
from aex_settlement.repository.audited import has_bookings, last_batch_number, next_batch_number
from aex_settlement.repository.journal import read_head
from aex_settlement.rules.audit.findings import Findings, Seal
from aex_settlement.rules.broken import UnreadableRecord
from aex_settlement.rules.journal import JournalHead

_TRIES = 20
_HEAD = "the journal's head"


class NoLedger(Exception):
    """Nothing was ever booked here, and no seal and no projection says otherwise."""


class JournalEnd:
    """Takes a walk to the head, as it is when this begins, and holds its end against all that tells of it."""

    def __init__(self, store: Store, findings: Findings, walk: Walk, known: Sequence[Seal], projected: int) -> None:
        """`projected`: the last batch that a projection had applied before this began."""
        self._store = store
        self._findings = findings
        self._walk = walk
        self._known = known
        self._projected = projected
        self._told = False

    async def reach(self) -> None:
        """Walk to the head, and check that it and the known seals are met there. Raises `NoLedger`."""
        self._walk.watch([seal.seq for seal in self._known])
        last = 0
        head = await self._head()
        if head is None:
            last = max(await last_batch_number(self._store) or 0, self._projected)
            head = await self._head()  # the suite may have begun the journal meanwhile
        if head is None:
            await self._tell_missing(last)
        await self._walk.to(head.seq if head else last)
        link = self._walk.link
        if head is not None and link.hash is not None and (head.hash, head.sealed_at) != (link.hash, link.sealed_at):
            self._tell(f"does not say what batch {link.seq} says")
        for seal in self._known:
            await self._check_seal(seal)

    async def catch_up(self) -> None:
        """Walk on to the present head."""
        head = await self._head()
        if head is not None:
            await self._walk.to(head.seq)

    async def check_beyond(self) -> None:
        """What lies behind the last batch was sealed meanwhile, and the head has moved; or somebody put it there."""
        for _ in range(_TRIES):
            found = await next_batch_number(self._store, self._walk.link.seq)
            if found is None:
                return
            await self.catch_up()
            if self._walk.link.seq < found:
                detail = f"lies behind batch {self._walk.link.seq}, which the journal's head says is the last"
                self._findings.broken_link(found, "batch_added", detail)
                return

    async def _check_seal(self, seal: Seal) -> None:
        walk = self._walk
        if seal.seq > walk.link.seq and await next_batch_number(self._store, seal.seq - 1) == seal.seq:
            await self.catch_up()
        found = walk.hashes.get(seal.seq)
        if found is None:
            detail = f"was sealed with {seal.hash}, and is not there; the journal ends at batch {walk.link.seq}"
            self._findings.broken_link(seal.seq, "seal_missing", detail)
        elif found != seal.hash:
            detail = f"was sealed with {seal.hash}, and has {found} now: it or one before it was rewritten"
            self._findings.broken_link(seal.seq, "seal_differs", detail)

    async def _head(self) -> JournalHead | None:
        try:
            stored = await read_head(self._store)
        except UnreadableRecord:
            self._tell("cannot be read")
            return None
        return stored.record if stored else None

    async def _tell_missing(self, last: int) -> None:
        if last:
            self._tell(f"is missing, though batch {last} was sealed")
        elif not self._known and not self._findings.total and not await has_bookings(self._store):
            raise NoLedger

    def _tell(self, detail: str) -> None:
        """Of the head one finding is enough."""
        if not self._told:
            self._findings.add("head_wrong", _HEAD, detail)
        self._told = True
