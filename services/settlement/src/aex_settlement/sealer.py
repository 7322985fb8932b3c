"""The sealer: the one process at a time that seals the journal and keeps its projections at the head."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

import structlog

from aex_models.backoff import Backoff
from aex_runtime.failures import describe_failure
from aex_runtime.http.metrics import GaugeSpec
from aex_runtime.lease_holder import LeaseHolder
from aex_runtime.leases import Lease, LeaseLost, Leases
from aex_runtime.store.port import StoreUnavailable, Transaction
from aex_settlement.bell import Bell
from aex_settlement.deps import Deps
from aex_settlement.handlers.journal.guards import Guard, unguarded
from aex_settlement.handlers.journal.measure import batches_behind, oldest_unsealed_s
from aex_settlement.handlers.journal.project import project_sealed
from aex_settlement.handlers.journal.read_sealed import AHEAD, SealedPages
from aex_settlement.handlers.journal.seal import Lookout, seal_waiting
from aex_settlement.rules.broken import Broken, BrokenJournal, UnreadableRecord
from aex_settlement.rules.projected import Projection

LEASE = "sealer"
_BACKOFF = Backoff(first=timedelta(milliseconds=200), cap=timedelta(seconds=5))
_log = structlog.get_logger("aex_settlement.sealer")


async def catch_up(deps: Deps, guard: Guard = unguarded, lookout: Lookout | None = None) -> int:
    """Seal what waits, and apply what is sealed; how many transactions were sealed.

    In portions, so that under load the projections follow closely, and transactions need not be read twice.
    Raises `StoreUnavailable`, `Broken` (then all that waits is sealed none the less), and what `guard` raises.
    """
    known = lookout or Lookout()
    total = 0
    while True:
        pages = SealedPages(deps.store)
        sealed = await seal_waiting(deps, guard, known, pages, most=AHEAD)
        total += sealed
        try:
            await project_sealed(deps, guard, pages)
        except Broken:
            await seal_waiting(deps, guard, known)
            raise
        if sealed < AHEAD:
            return total


@dataclass(frozen=True, slots=True)
class SealerPolicy:
    """How soon."""

    gather: timedelta = timedelta(milliseconds=5)
    """How long the sealer waits after the bell, so that what comes together is sealed together."""
    rest: timedelta = timedelta(milliseconds=200)
    """How long after it has sealed something it waits before it follows the bell again: a batch for each settlement
    would cost as much as settling does, and commits of both wait for each other."""
    poll: timedelta = timedelta(milliseconds=500)
    """The longest sleep: what other processes commit is found after no longer than this."""
    lease_ttl: timedelta = timedelta(seconds=10)


class Sealer:
    """Seals and projects for as long as this process holds the lease."""

    def __init__(self, deps: Deps, leases: Leases, bell: Bell, policy: SealerPolicy | None = None) -> None:
        self._deps = deps
        self._leases = leases
        self._bell = bell
        self._policy = policy or SealerPolicy()
        self._lease = LeaseHolder(leases, deps.clock, deps.ids, LEASE, self._policy.lease_ttl)
        self._lookout = Lookout()

    async def run(self) -> None:
        """Seal until cancelled. An outage is waited out; a broken journal is told of, and sealing goes on."""
        await self._lease.run(self._seal_on)

    def gauges(self) -> Sequence[GaugeSpec]:
        """How far behind the journal and its projections are, and what cannot be sealed."""
        deps = self._deps
        return (
            GaugeSpec(
                "aex_journal_unsealed_seconds",
                "Age of the oldest transaction that is not sealed",
                self._unsealed_s,
            ),
            GaugeSpec(
                "aex_journal_refused",
                "Transactions that cannot be sealed as they or their companions were altered, as this process last saw",
                self._refused,
            ),
            *(
                GaugeSpec(
                    f"aex_{projection.value}_behind_batches",
                    f"Sealed batches that the {projection.value} projection has not applied",
                    partial(batches_behind, deps, projection),
                )
                for projection in Projection
            ),
        )

    async def _unsealed_s(self) -> float:
        return await oldest_unsealed_s(self._deps, self._lookout.clean.bounds)

    async def _refused(self) -> float:
        return len(self._lookout.refused)

    async def _seal_on(self, lease: Lease) -> None:
        async def guard(transaction: Transaction) -> None:
            await self._leases.guard(transaction, lease)

        try:
            await self._look_on(guard)
        except LeaseLost:  # another one seals by now; this one tries to get it again
            _log.warning("sealer_fenced", fence=lease.fencing_token)
        finally:
            self._lookout = Lookout()

    async def _look_on(self, guard: Guard) -> None:
        failures, rested_at = 0, 0.0
        while True:
            try:
                if await catch_up(self._deps, guard, self._lookout):
                    rested_at = _now() + self._policy.rest.total_seconds()
                failures = 0
            except (StoreUnavailable, Broken) as error:
                failures += 1
                await self._back_off(failures, error)
            if await self._bell.heard(self._policy.poll.total_seconds()):
                await asyncio.sleep(max(self._policy.gather.total_seconds(), rested_at - _now()))

    async def _back_off(self, failures: int, error: Exception) -> None:
        delay = _BACKOFF.delay(failures, self._deps.ids.jitter())
        log = _log.bind(retry_in_s=delay.total_seconds())
        if isinstance(error, BrokenJournal):
            log.critical(
                "journal_broken",
                alarm=True,
                batch=error.seq,
                transaction_id=error.transaction_id,
                reason=error.reason,
            )
        elif isinstance(error, UnreadableRecord):
            log.critical("record_unreadable", alarm=True, collection=error.collection, key=error.key)
        else:
            log.warning("journal_not_sealed", reason=describe_failure(error))
        await asyncio.sleep(delay.total_seconds())


def _now() -> float:
    return asyncio.get_running_loop().time()
