"""Sealer: background task that seals the journal and updates its projections.

A lease ensures that one process at a time seals.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

import structlog

from aex_models.backoff import Backoff
from aex_runtime.http.metrics import GaugeSpec
from aex_runtime.leases import LeaderElection, Lease, LeaseLost, Leases
from aex_runtime.logs import describe_failure
from aex_runtime.retry import Retries
from aex_runtime.store.port import StoreUnavailable, Transaction
from aex_settlement.deps import Deps
from aex_settlement.handlers.journal.checks import count_batches_behind, read_oldest_unsealed_age_s
from aex_settlement.handlers.journal.concurrency import Guard, allow_without_lease
from aex_settlement.handlers.journal.project import AHEAD, JournalReader, apply_sealed_batches_to_projections
from aex_settlement.handlers.journal.seal import SealerState, seal_unsealed_transactions
from aex_settlement.rules.journal import BrokenJournal, LedgerCorrupt, UnreadableRecord
from aex_settlement.rules.projections import Projection

LEASE = "sealer"
_BACKOFF = Backoff(first=timedelta(milliseconds=200), cap=timedelta(seconds=5))
_log = structlog.get_logger("aex_settlement.sealer")


class WakeupEvent:
    """Event by which a commit to the ledger wakes the sealer; several before a wait count once."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def set(self) -> None:
        """Wake the sealer. Called on the event loop."""
        self._event.set()

    async def wait_and_clear(self, timeout_s: float) -> bool:
        """Wait until the event is set, and clear it; return False after the timeout."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._event.wait()
        except TimeoutError:
            return False
        self._event.clear()
        return True


async def seal_and_project(deps: Deps, guard: Guard = allow_without_lease, state: SealerState | None = None) -> int:
    """Seal all unsealed transactions and apply them to the projections; return the number sealed.

    Works in portions, so that projections follow closely under load. If a projection cannot be updated, all
    transactions are sealed before `LedgerCorrupt` is raised. Also raises `StoreUnavailable`, and errors of `guard`.
    """
    sealer_state = state or SealerState()
    total = 0
    while True:
        reader = JournalReader(deps.store)
        sealed = await seal_unsealed_transactions(deps, guard, sealer_state, reader, limit=AHEAD)
        total += sealed
        try:
            await apply_sealed_batches_to_projections(deps, guard, reader)
        except LedgerCorrupt:
            await seal_unsealed_transactions(deps, guard, sealer_state)
            raise
        if sealed < AHEAD:
            return total


@dataclass(frozen=True, slots=True)
class SealerPolicy:
    """Intervals of the sealer."""

    batching_delay: timedelta = timedelta(milliseconds=5)
    """Wait after a wakeup, so that concurrent commits are sealed in one batch."""
    min_batch_interval: timedelta = timedelta(milliseconds=200)
    """Shortest time between two batches; one batch per settlement would cost as much as settling."""
    max_wakeup_wait: timedelta = timedelta(milliseconds=500)
    """Longest wait for a wakeup; commits of other processes are found after this time."""
    lease_ttl: timedelta = timedelta(seconds=10)


class Sealer:
    """Background task that seals and projects while this process holds the lease."""

    def __init__(self, deps: Deps, leases: Leases, wakeup: WakeupEvent, policy: SealerPolicy | None = None) -> None:
        self._deps = deps
        self._leases = leases
        self._wakeup = wakeup
        self._policy = policy or SealerPolicy()
        self._election = LeaderElection(leases, deps.clock, deps.ids, LEASE, self._policy.lease_ttl)
        self._state = SealerState()

    async def run(self) -> None:
        """Compete for the lease and, while holding it, seal and project until cancelled.

        After an outage, or if the journal is damaged, it logs the error and retries. Damage is logged with an alarm.
        """
        await self._election.run(self._seal_with_lease)

    def gauges(self) -> Sequence[GaugeSpec]:
        """Return gauges for the delay of sealing and projecting, and for refused transactions."""
        deps = self._deps
        return (
            GaugeSpec(
                "aex_journal_unsealed_seconds", "Age of the oldest transaction that is not sealed", self._unsealed_s
            ),
            GaugeSpec(
                "aex_journal_refused",
                "Transactions that the last run could not seal, because they or others of their batch were altered",
                self._count_refused,
            ),
            *(
                GaugeSpec(
                    f"aex_{projection.value}_behind_batches",
                    f"Sealed batches that the {projection.value} projection has not applied",
                    partial(count_batches_behind, deps, projection),
                )
                for projection in Projection
            ),
        )

    async def _unsealed_s(self) -> float:
        return await read_oldest_unsealed_age_s(self._deps, self._state.low_watermark.bounds)

    async def _count_refused(self) -> float:
        return len(self._state.refused)

    async def _seal_with_lease(self, lease: Lease) -> None:
        async def guard(transaction: Transaction) -> None:
            await self._leases.require_lease(transaction, lease)

        try:
            await self._seal_continuously(guard)
        except LeaseLost:  # another process seals; this one runs for the lease
            _log.warning("sealer_fenced", fence=lease.fencing_token)
        finally:
            self._state = SealerState()

    async def _seal_continuously(self, guard: Guard) -> None:
        retries, next_batch_at = Retries(_BACKOFF, self._deps.ids), 0.0
        while True:
            try:
                if await seal_and_project(self._deps, guard, self._state):
                    next_batch_at = _loop_time() + self._policy.min_batch_interval.total_seconds()
                retries.reset()
            except (StoreUnavailable, LedgerCorrupt) as error:
                delay_s = retries.count_failure_and_get_delay_s()
                _log_failure(error, delay_s)
                await asyncio.sleep(delay_s)
            if await self._wakeup.wait_and_clear(self._policy.max_wakeup_wait.total_seconds()):
                await asyncio.sleep(max(self._policy.batching_delay.total_seconds(), next_batch_at - _loop_time()))


def _log_failure(error: Exception, delay_s: float) -> None:
    log = _log.bind(retry_in_s=delay_s)
    if isinstance(error, BrokenJournal):
        log.critical(
            "journal_broken", alarm=True, batch=error.seq, transaction_id=error.transaction_id, reason=error.reason
        )
    elif isinstance(error, UnreadableRecord):
        log.critical("record_unreadable", alarm=True, collection=error.collection, key=error.key)
    else:
        log.warning("journal_not_sealed", reason=describe_failure(error))


def _loop_time() -> float:
    return asyncio.get_running_loop().time()
