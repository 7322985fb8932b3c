"""A ledger of any size on SQLite, made by the service's own rules and handlers.

Each day is written in large commits, corrected, sealed and projected.
"""

import time
from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal
from itertools import islice
from pathlib import Path

from aex_models.corrections import Replacement, ReversalRequest
from aex_models.settlement import Settlement
from aex_runtime.blobs.factory import open_blobs
from aex_runtime.clock import Clock, SetClock
from aex_runtime.http.idempotency import IdempotentRequest
from aex_runtime.ids import SeededIds
from aex_runtime.store.port import key_of
from aex_runtime.store.spill import SpillingStore
from aex_runtime.store.sqlite import SQLiteStore
from aex_runtime.unit_of_work import Unit, UnitOfWork
from aex_settlement.deps import Deps
from aex_settlement.handlers.post_transactions import reverse_settlement
from aex_settlement.repository.ledger import SETTLEMENTS, create_unsealed_transactions
from aex_settlement.rules.transactions import build_settlement_transaction
from aex_settlement.sealer import seal_and_project
from tests.benchmarks.harness import print_line
from tests.benchmarks.ledger.drawing import DAYS, FIRST_DAY, SEED, contract_id, draw_settlements, numbers_of_day

CORRECTED_EVERY = 400
"""Every 400th contract is reversed on the next day, and every second reversal has a replacement."""
REPLACEMENT = Replacement(base=Decimal("0.20"), bonus=Decimal("0.100001"), penalty=Decimal("0.05"))
_IN_ONE_COMMIT = 160
"""Settlements; each is three documents, and the store takes 500 of them."""
_DEADLINE_S = 900.0
_EVENING = timedelta(hours=23, minutes=50)
_NO_KEY = IdempotentRequest("benchmark", None, "")


def store_file(folder: Path) -> Path:
    """Return the file of a settlement service on this data directory."""
    return folder / "settlement" / "store.sqlite3"


def open_ledger(folder: Path, clock: Clock) -> Deps:
    """Open the service's collaborators; the caller closes their store."""
    records = SQLiteStore(store_file(folder), deadline_s=_DEADLINE_S)
    store = SpillingStore(records, open_blobs(f"file:///{folder}/blobs"))
    return Deps(UnitOfWork("settlement", store, clock, lambda _: None), store, clock, SeededIds(SEED), lambda: None)


async def make_ledger(folder: Path, settlements: int) -> None:
    """Write, correct, seal and project so many settlements into an empty folder."""
    clock, sealed, sealing_s = SetClock(FIRST_DAY), 0, 0.0
    deps = open_ledger(folder, clock)
    try:
        for day in range(DAYS):
            drawn = draw_settlements(day, settlements)
            while batch := list(islice(drawn, _IN_ONE_COMMIT)):
                await _write_batch(deps, batch)
            clock.advance(FIRST_DAY + timedelta(days=day) + _EVENING - clock.now())
            sealed += len(numbers_of_day(day, settlements))
            if day:
                sealed += await _correct(deps, numbers_of_day(day - 1, settlements)[::CORRECTED_EVERY])
            begin = time.perf_counter()
            await seal_and_project(deps)
            sealing_s += time.perf_counter() - begin
    finally:
        await deps.store.close()
    throughput = f"{sealed / sealing_s:,.0f} transactions/s"
    print_line(f"{folder.name}: sealer throughput {throughput}, projections included")


async def _write_batch(deps: Deps, settlements: Sequence[Settlement]) -> None:
    async def write(unit: Unit) -> None:
        for each in settlements:
            reason, actor = f"outcome of {each.contract_id}", "service:settlement"
            create_unsealed_transactions(
                unit, build_settlement_transaction(each, 1, each.cost, each.settled_at, reason, actor)
            )
            unit.create(SETTLEMENTS, key_of(each.contract_id), each)

    await deps.unit_of_work.run(write)


async def _correct(deps: Deps, numbers: Sequence[int]) -> int:
    """Reverse settlements with the service's handler; return the number of new transactions."""
    for index, number in enumerate(numbers):
        request = ReversalRequest(reason="billed in error", replacement=None if index % 2 else REPLACEMENT)
        await reverse_settlement(deps, contract_id(number), request, "finance", _NO_KEY)
    return len(numbers) + (len(numbers) + 1) // 2
