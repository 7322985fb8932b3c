"""Leases: one process at a time does a piece of background work, and what it writes late can be told.

Clocks differ. A lease is over for others once its end is past by `max_skew` on their clock, or once they have seen
it unchanged for its whole length plus `max_skew`; for its holder it is over at its end, counted from before the
write that took it. Where that is not enough (a process that was stopped and goes on), the fencing token tells:
`guard` it in the transaction that must not come late.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from aex_models.frozen import Frozen, Instant
from aex_runtime.clock import Clock
from aex_runtime.store.port import Collection, Store, Transaction
from aex_runtime.store.table import Stored, Table

_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


class LeaseRecord(Frozen):
    """Who holds a lease until when. Kept when it is released, so that tokens only ever grow."""

    holder: str
    fencing_token: int
    expires_at: Instant
    ttl_ms: int


def leases_table(service: str) -> Table[LeaseRecord]:
    """A service's leases, by their names."""
    return Table(Collection(f"{service}-leases"), LeaseRecord)


@dataclass(frozen=True, slots=True)
class Lease:
    """A lease that we hold until `expires_at` on our own clock. Every new holding has a higher token."""

    name: str
    fencing_token: int
    ttl: timedelta
    expires_at: datetime


class LeaseLost(Exception):
    """Somebody else holds it by now, or may."""


class Leases:
    """A service's leases, as one process sees them."""

    def __init__(
        self,
        service: str,
        store: Store,
        clock: Clock,
        holder: str,
        max_skew: timedelta = timedelta(seconds=2),
    ) -> None:
        """`holder` names this process and no other; `max_skew` bounds how far the clocks of holders differ."""
        self.service = service
        self.holder = holder
        self._store = store
        self._clock = clock
        self._max_skew = max_skew
        self._table = leases_table(service)
        self._seen: dict[str, tuple[int, datetime]] = {}

    async def acquire(self, name: str, ttl: timedelta) -> Lease | None:
        """Take the lease where it is free, over or already ours; else None. Raises `StoreUnavailable`."""
        now = self._clock.now()

        async def take(transaction: Transaction) -> Lease | None:
            stored = await self._table.get(transaction, name)
            if stored is not None and not self._is_over(name, stored, now):
                return None
            token = stored.record.fencing_token + 1 if stored else 1
            return self._write(transaction, Lease(name, token, ttl, now + ttl))

        return await self._store.transact(take)

    async def renew(self, lease: Lease) -> Lease:
        """The same lease, with its whole length before it. Raises `LeaseLost`, `StoreUnavailable`."""
        now = self._clock.now()
        if now >= lease.expires_at:
            raise LeaseLost(lease.name)

        async def extend(transaction: Transaction) -> Lease:
            await self.guard(transaction, lease)
            return self._write(transaction, Lease(lease.name, lease.fencing_token, lease.ttl, now + lease.ttl))

        return await self._store.transact(extend)

    async def release(self, lease: Lease) -> None:
        """Let others have it at once; nothing where it is theirs already. Raises `StoreUnavailable`."""

        async def give_up(transaction: Transaction) -> None:
            stored = await self._table.get(transaction, lease.name)
            if stored is not None and stored.record.fencing_token == lease.fencing_token:
                self._write(transaction, Lease(lease.name, lease.fencing_token, lease.ttl, _LONG_AGO))

        await self._store.transact(give_up)

    async def guard(self, transaction: Transaction, lease: Lease) -> None:
        """Let this transaction commit only while the lease is ours. Call it before writing. Raises `LeaseLost`."""
        stored = await self._table.get(transaction, lease.name)
        if stored is None or stored.record.fencing_token != lease.fencing_token:
            raise LeaseLost(lease.name)

    def _is_over(self, name: str, stored: Stored[LeaseRecord], now: datetime) -> bool:
        record = stored.record
        if record.holder == self.holder or now >= record.expires_at + self._max_skew:
            return True
        version, since = self._seen.get(name, (0, now))
        if version != stored.document.version or now < since:  # renewed; or our clock was set back
            self._seen[name] = (stored.document.version, now)
            return False
        return now >= since + timedelta(milliseconds=record.ttl_ms) + self._max_skew

    def _write(self, transaction: Transaction, lease: Lease) -> Lease:
        record = LeaseRecord(
            holder=self.holder,
            fencing_token=lease.fencing_token,
            expires_at=lease.expires_at,
            ttl_ms=lease.ttl // timedelta(milliseconds=1),
        )
        transaction.put(self._table.collection, lease.name, *self._table.encode(record))
        return lease
