"""Rebuilds of projections: a new generation is built beside the one that is read, then replaces it."""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol, TypeVar

from aex_runtime.clock import Clock
from aex_runtime.errors import Conflict
from aex_runtime.ids import Ids
from aex_runtime.leases import LeaseHandle, Leases
from aex_runtime.store.port import Collection, Store, Transaction

T = TypeVar("T")
LEASE = "rebuild"
DELETE_PAGE = 400
"""Documents that one transaction deletes; a transaction may write 500."""
_TTL = timedelta(seconds=30)


@dataclass(frozen=True, slots=True)
class RebuildLease:
    """The store of a rebuild, which can be written only while the rebuild holds its lease."""

    store: Store
    handle: LeaseHandle

    async def transact_under_lease(self, write: Callable[[Transaction], Awaitable[T]]) -> T:
        """Renew the lease if it is due, and run a transaction that commits only under it.

        Raises `LeaseLost`, `StoreUnavailable`.
        """
        await self.handle.renew_if_due()

        async def guarded_write(transaction: Transaction) -> T:
            await self.handle.require_lease(transaction)
            return await write(transaction)

        return await self.store.transact(guarded_write)

    async def delete_documents_by_page(
        self, collection: Collection, key_pages: AsyncGenerator[Sequence[str], None]
    ) -> int:
        """Delete the documents with these keys page by page; return their number.

        Raises `LeaseLost`, `StoreUnavailable`.
        """
        deleted = 0
        async with aclosing(key_pages):
            async for keys in key_pages:

                async def write(transaction: Transaction, keys: Sequence[str] = keys) -> None:
                    for key in keys:
                        transaction.delete(collection, key)

                await self.transact_under_lease(write)
                deleted += len(keys)
        return deleted


@asynccontextmanager
async def acquire_rebuild_lease(service: str, store: Store, clock: Clock, ids: Ids) -> AsyncIterator[RebuildLease]:
    """Hold the service's rebuild lease during the block. Raises `Conflict` if another rebuild holds it."""
    leases = Leases(service, store, clock, holder=ids.new("rebuild"))
    lease = await leases.acquire(LEASE, _TTL)
    if lease is None:
        wait_s = int(_TTL.total_seconds()) + 2
        raise Conflict(
            "rebuild_under_way",
            f"another rebuild is under way; if it was killed, this one can begin {wait_s} s after its end",
            retry_after_s=wait_s,
        )
    handle = LeaseHandle(leases, lease, clock)
    try:
        yield RebuildLease(store, handle)
    finally:
        await handle.release()


class GenerationBuild(Protocol[T]):
    """The steps of one rebuild. `T` is the type of a generation with its progress."""

    async def delete_stale_generations(self) -> int:
        """Delete the documents of generations that are neither read nor being built; return their number."""

    async def begin_or_resume_generation(self) -> T:
        """Record a new generation, which has no documents yet, or return one that a killed rebuild has begun."""

    async def write_documents(self, generation: T) -> T:
        """Write the documents of the generation, and return it with its progress."""

    async def switch_readers_to(self, generation: T) -> T:
        """Make readers read this generation from now on, and return it."""


async def build_and_switch_to_generation(build: GenerationBuild[T]) -> tuple[T, int]:
    """Build a generation and switch to it; return it and the number of deleted documents.

    Until the switch, readers use the old generation. A rebuild after a killed one continues its generation. Stale
    generations are deleted before and after.
    """
    removed = await build.delete_stale_generations()
    generation = await build.switch_readers_to(await build.write_documents(await build.begin_or_resume_generation()))
    return generation, removed + await build.delete_stale_generations()
