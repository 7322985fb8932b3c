"""How a transaction that lost runs again: bounded tries, waits that grow, full jitter."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import structlog

from aex_runtime.ids import RandomIds
from aex_runtime.store.buffer import BufferedTransaction
from aex_runtime.store.limits import check_writes
from aex_runtime.store.port import Collection, Contention, Document, T

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Rerun:
    """How often a transaction may run, and how long it waits between runs.

    The first wait is at least as long as the run that lost took: while a run takes 100 ms, others that come back after
    4 ms only meet again. `jitter` (in [0, 1)), `pause` (seconds) and `now` (seconds) are for who owns time and chance.
    """

    tries: int = 12
    first_ms: float = 4.0
    longest_ms: float = 1_000.0
    jitter: Callable[[], float] = field(default_factory=lambda: RandomIds().jitter)
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep
    now: Callable[[], float] = time.monotonic

    def wait_s(self, lost: int, took_s: float = 0.0) -> float:
        """The wait after `lost` lost runs (1 is the first), the last of which took `took_s`.

        Anything up to min(longest, max(first, took) · 2^(lost−1)).
        """
        step_ms = max(self.first_ms, took_s * 1_000) * 2.0 ** (lost - 1)
        return self.jitter() * min(self.longest_ms, step_ms) / 1_000


class Committer(Protocol):
    """The part of a backend that transactions need."""

    async def get_many(self, collection: Collection, keys: Sequence[str]) -> list[Document | None]:
        """The documents as last committed, in the order of the keys."""
        ...

    async def commit(self, transaction: BufferedTransaction) -> bool:
        """Apply all writes, or none; False where something expected has changed."""
        ...

    async def unchanged(self, transaction: BufferedTransaction) -> bool:
        """Whether everything expected is still so."""
        ...


async def run(fn: Callable[[BufferedTransaction], Awaitable[T]], backend: Committer, rerun: Rerun) -> T:
    """Run `fn` until it commits. Raises what `fn` raises, what the commit raises, and `Contention`.

    An error that `fn` raised over reads that do not belong together is no answer: it is dropped and `fn` runs again.
    """
    for lost in range(1, rerun.tries + 1):
        began = rerun.now()
        transaction = BufferedTransaction(backend.get_many)
        try:
            result = await fn(transaction)
        except Exception:
            if await backend.unchanged(transaction):
                raise
        else:
            check_writes(transaction.writes)
            if await backend.commit(transaction):
                return result
        _log.debug("store.transaction_lost", run=lost, of=rerun.tries)
        if lost < rerun.tries:
            await rerun.pause(rerun.wait_s(lost, rerun.now() - began))
    raise Contention(f"the transaction lost against others {rerun.tries} times")
