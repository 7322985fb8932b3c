"""Removes idempotency records that have expired, in one process at a time."""

import asyncio
from datetime import timedelta

import structlog

from aex_runtime.clock import Clock, epoch_micros
from aex_runtime.failures import describe_failure
from aex_runtime.http.idempotency import idempotency_table
from aex_runtime.ids import Ids
from aex_runtime.lease_holder import LeaseHolder
from aex_runtime.leases import Lease, Leases
from aex_runtime.store.port import Bound, Scalar, Store, StoreUnavailable, Transaction

_EVERY = timedelta(hours=1)
_LEASE_TTL = timedelta(minutes=1)
_BATCH = 100
_log = structlog.get_logger(__name__)


class IdempotencyPurge:
    """Looks every hour. Until it has come by, an expired key is still honoured."""

    def __init__(self, service: str, store: Store, clock: Clock, ids: Ids, leases: Leases) -> None:
        self._table = idempotency_table(service)
        self._store = store
        self._clock = clock
        self._lease = LeaseHolder(leases, clock, ids, "idempotency-purge", _LEASE_TTL)

    async def run(self) -> None:
        """Purge until cancelled."""
        await self._lease.run(self._purge_on)

    async def purge(self) -> int:
        """Remove what has expired; how many records. Raises `StoreUnavailable`."""
        horizon = (Bound("<=", epoch_micros(self._clock.now())),)
        after: tuple[Scalar, str] | None = None
        removed = 0
        while True:
            found = await self._table.find(self._store, order="expires_at", bounds=horizon, after=after, limit=_BATCH)
            await self._delete([stored.document.key for stored in found])
            removed += len(found)
            if len(found) < _BATCH:
                return removed
            # On from here, not from the beginning: a store may walk over what was just deleted.
            after = found[-1].document.fields["expires_at"], found[-1].document.key

    async def _delete(self, keys: list[str]) -> None:
        async def write(transaction: Transaction) -> None:
            for key in keys:
                transaction.delete(self._table.collection, key)

        await self._store.transact(write)

    async def _purge_on(self, _: Lease) -> None:
        while True:
            try:
                removed = await self.purge()
            except StoreUnavailable as error:
                _log.warning("idempotency_not_purged", reason=describe_failure(error))
            else:
                _log.debug("idempotency_purged", removed=removed)
            await asyncio.sleep(_EVERY.total_seconds())
