"""Leases with fencing tokens, leader election for background work, and lease handles for commands.

Clocks of processes differ by up to `max_skew`. A process may acquire another one's lease in two cases. Its own clock is
`max_skew` past the end of the lease; or it has seen the lease unchanged for the lease's length plus `max_skew`. For the
owner a lease ends at its end, counted from before the write that acquired it. A process that was paused may still write
late, so its transactions call `require_lease`.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import structlog

from aex_models.frozen import Frozen, Instant
from aex_runtime.clock import Clock
from aex_runtime.ids import Ids
from aex_runtime.logs import describe_failure
from aex_runtime.store.port import Collection, Store, StoreUnavailable, Transaction
from aex_runtime.store.table import Stored, Table

_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
_log = structlog.get_logger(__name__)


class LeaseRecord(Frozen):
    """The owner and the end of a lease, as stored.

    The record of a released lease remains, so that fencing tokens only grow.
    """

    holder: str
    fencing_token: int
    expires_at: Instant
    ttl_ms: int


def leases_table(service: str) -> Table[LeaseRecord]:
    """Return the table of a service's leases, by their names."""
    return Table(Collection(f"{service}-leases"), LeaseRecord)


@dataclass(frozen=True, slots=True)
class Lease:
    """A lease that this process has, until `expires_at` on its clock.

    Each acquisition gives it a higher fencing token.
    """

    name: str
    fencing_token: int
    ttl: timedelta
    expires_at: datetime


class LeaseLost(Exception):
    """A lease that this process does not hold any more, or not with certainty."""


class Leases:
    """Acquires, renews and releases leases of a service, for one process."""

    def __init__(
        self, service: str, store: Store, clock: Clock, holder: str, max_skew: timedelta = timedelta(seconds=2)
    ) -> None:
        """`holder`: a unique name of this process. `max_skew`: the largest difference between clocks."""
        self.service = service
        self.holder = holder
        self._store = store
        self._max_skew = max_skew
        self._clock = clock
        self._table = leases_table(service)
        self._observed: dict[str, tuple[int, datetime]] = {}
        """The version of each lease of another process, and the time when it was first read."""

    async def acquire(self, name: str, ttl: timedelta) -> Lease | None:
        """Acquire a lease; return None if another process has it. Raises `StoreUnavailable`."""
        now = self._clock.now()

        async def take(transaction: Transaction) -> Lease | None:
            stored = await self._table.get(transaction, name)
            if stored is not None and not self._is_free(name, stored, now):
                return None
            token = stored.record.fencing_token + 1 if stored else 1
            return self._write(transaction, Lease(name, token, ttl, now + ttl))

        return await self._store.transact(take)

    async def renew(self, lease: Lease) -> Lease:
        """Extend the lease by its length from now, and return it. Raises `LeaseLost`, `StoreUnavailable`."""
        now = self._clock.now()
        if now >= lease.expires_at:
            raise LeaseLost(lease.name)

        async def extend(transaction: Transaction) -> Lease:
            await self.require_lease(transaction, lease)
            return self._write(transaction, Lease(lease.name, lease.fencing_token, lease.ttl, now + lease.ttl))

        return await self._store.transact(extend)

    async def release(self, lease: Lease) -> None:
        """Release the lease unless another process has it. If the store fails, log it: the lease expires."""

        async def expire(transaction: Transaction) -> None:
            stored = await self._table.get(transaction, lease.name)
            if stored is not None and stored.record.fencing_token == lease.fencing_token:
                self._write(transaction, Lease(lease.name, lease.fencing_token, lease.ttl, _LONG_AGO))

        try:
            await self._store.transact(expire)
        except StoreUnavailable as error:
            _log.warning("lease_not_released", lease=lease.name, reason=describe_failure(error))

    async def require_lease(self, transaction: Transaction, lease: Lease) -> None:
        """Make the transaction commit only while this process has the lease. Call it before its writes.

        Raises `LeaseLost`.
        """
        stored = await self._table.get(transaction, lease.name)
        if stored is None or stored.record.fencing_token != lease.fencing_token:
            raise LeaseLost(lease.name)

    def _is_free(self, name: str, stored: Stored[LeaseRecord], now: datetime) -> bool:
        record = stored.record
        if record.holder == self.holder or now >= record.expires_at + self._max_skew:
            return True
        version, since = self._observed.get(name, (0, now))
        if version != stored.document.version or now < since:  # renewed, or the clock was set back
            self._observed[name] = (stored.document.version, now)
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


class LeaderElection:
    """Runs background work in one process at a time, under a lease."""

    def __init__(self, leases: Leases, clock: Clock, ids: Ids, name: str, ttl: timedelta) -> None:
        self._leases = leases
        self._clock = clock
        self._ids = ids
        self._name = name
        self._ttl = ttl

    async def run(self, work: Callable[[Lease], Awaitable[None]]) -> None:
        """Until cancelled, try to get the lease, and run `work` while this process has it.

        `work` is cancelled when the lease is lost. It should not return. Raises what `work` raises. An outage of the
        store is waited out.
        """
        while True:
            lease = await self._try_to_acquire()
            if lease is not None:
                await self._hold(lease, work)
            # A third of the length, jittered: a new leader starts soon, and not all processes try at once.
            await asyncio.sleep(self._ttl.total_seconds() / 3 * (0.5 + self._ids.jitter() / 2))

    async def _try_to_acquire(self) -> Lease | None:
        try:
            return await self._leases.acquire(self._name, self._ttl)
        except StoreUnavailable as error:
            _log.warning("lease_not_acquired", lease=self._name, reason=describe_failure(error))
            return None

    async def _hold(self, lease: Lease, work: Callable[[Lease], Awaitable[None]]) -> None:
        _log.info("lease_acquired", lease=lease.name, fence=lease.fencing_token)
        working = asyncio.ensure_future(work(lease))
        try:
            while not working.done():
                left_s = max((lease.expires_at - self._clock.now()).total_seconds(), 0)
                await asyncio.wait([working], timeout=min(self._ttl.total_seconds() / 3, left_s))
                if not working.done():
                    lease = await self._renew(lease)
        except LeaseLost:
            _log.warning("lease_lost", lease=lease.name, fence=lease.fencing_token)
        finally:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)  # raised below, unless another error is propagating
            await self._leases.release(lease)
        if not working.cancelled():
            working.result()

    async def _renew(self, lease: Lease) -> Lease:
        """Return the renewed lease, or the same one in an outage of the store. Raises `LeaseLost`."""
        left_s = (lease.expires_at - self._clock.now()).total_seconds()
        try:
            async with asyncio.timeout(max(left_s, 0)):
                return await self._leases.renew(lease)
        except StoreUnavailable as error:
            _log.warning("lease_not_renewed", lease=lease.name, reason=describe_failure(error))
            return lease
        except TimeoutError:
            raise LeaseLost(lease.name) from None


class LeaseHandle:
    """The lease of a command, renewed while the command works. After its loss the command cannot write."""

    def __init__(self, leases: Leases, lease: Lease, clock: Clock) -> None:
        self._leases = leases
        self._lease = lease
        self._clock = clock

    async def require_lease(self, transaction: Transaction) -> None:
        """Make the transaction commit only under the lease. Call it before its writes. Raises `LeaseLost`."""
        await self._leases.require_lease(transaction, self._lease)

    async def renew_if_due(self) -> None:
        """Renew the lease if a third of its length has passed. Raises `LeaseLost`, `StoreUnavailable`."""
        if self._lease.expires_at - self._clock.now() < self._lease.ttl * 2 / 3:
            self._lease = await self._leases.renew(self._lease)

    async def release(self) -> None:
        """Release the lease. If the store fails, log it: the lease expires."""
        await self._leases.release(self._lease)
