"""A lease that a command holds for as long as it works, renewed as it goes."""

from datetime import timedelta

import structlog

from aex_runtime.clock import Clock
from aex_runtime.failures import describe_failure
from aex_runtime.leases import Lease, Leases
from aex_runtime.store.port import StoreUnavailable, Transaction

_log = structlog.get_logger(__name__)


class HeldLease:
    """Renewed by who calls `renewed` often enough; whoever lost it writes nothing any more."""

    def __init__(self, leases: Leases, lease: Lease, clock: Clock) -> None:
        self._leases = leases
        self._lease = lease
        self._clock = clock

    async def guard(self, transaction: Transaction) -> None:
        """Let this transaction commit only while the lease is ours. Raises `LeaseLost`."""
        await self._leases.guard(transaction, self._lease)

    async def renewed(self) -> None:
        """Renew it where a third of it is over. Raises `LeaseLost`, `StoreUnavailable`."""
        left: timedelta = self._lease.expires_at - self._clock.now()
        if left < self._lease.ttl * 2 / 3:
            self._lease = await self._leases.renew(self._lease)

    async def release(self) -> None:
        """Let others have it; where the store cannot be reached it ends by itself."""
        try:
            await self._leases.release(self._lease)
        except StoreUnavailable as error:
            _log.warning("lease_not_released", lease=self._lease.name, reason=describe_failure(error))
