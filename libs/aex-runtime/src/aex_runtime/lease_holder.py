"""Work that one process at a time does: begun with its lease, stopped with it."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

import structlog

from aex_runtime.clock import Clock
from aex_runtime.failures import describe_failure
from aex_runtime.ids import Ids
from aex_runtime.leases import Lease, LeaseLost, Leases
from aex_runtime.store.port import StoreUnavailable

_log = structlog.get_logger(__name__)


class LeaseHolder:
    """Does a piece of work for as long as this process holds its lease, whenever it gets it."""

    def __init__(self, leases: Leases, clock: Clock, ids: Ids, name: str, ttl: timedelta) -> None:
        self._leases = leases
        self._clock = clock
        self._ids = ids
        self._name = name
        self._ttl = ttl

    async def run(self, work: Callable[[Lease], Awaitable[None]]) -> None:
        """Run `work` (which does not return by itself) under the lease until cancelled; it is cancelled on loss.

        What `work` raises is raised. An unreachable store is waited out.
        """
        while True:
            lease = await self._try_to_acquire()
            if lease is not None:
                await self._hold(lease, work)
            # A third of the length: the next holder begins soon after this one ends, and not all at one moment.
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
                    lease = await self._renewed(lease)
        except LeaseLost:
            _log.warning("lease_lost", lease=lease.name, fence=lease.fencing_token)
        finally:
            await _stop(working)
            await self._release(lease)
        if not working.cancelled():
            working.result()

    async def _renewed(self, lease: Lease) -> Lease:
        """Renewed; as it was while the store cannot be reached and time is left. Raises `LeaseLost`."""
        left_s = (lease.expires_at - self._clock.now()).total_seconds()
        try:
            async with asyncio.timeout(max(left_s, 0)):
                return await self._leases.renew(lease)
        except StoreUnavailable as error:
            _log.warning("lease_not_renewed", lease=lease.name, reason=describe_failure(error))
            return lease
        except TimeoutError:
            raise LeaseLost(lease.name) from None

    async def _release(self, lease: Lease) -> None:
        try:
            await self._leases.release(lease)
        except StoreUnavailable as error:  # it expires
            _log.warning("lease_not_released", lease=lease.name, reason=describe_failure(error))


async def _stop(task: asyncio.Future[None]) -> None:
    if not task.done():
        task.cancel()
        await asyncio.wait([task])
    if not task.cancelled():
        task.exception()  # seen; `_hold` raises it where nothing else is on its way
