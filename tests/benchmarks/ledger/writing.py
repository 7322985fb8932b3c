"""Processes that write settlements side by side into one file, in units of many."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

from aex_models.settlement import Settlement
from aex_runtime.blobs.factory import open_blobs
from aex_runtime.clock import Clock, SetClock
from aex_runtime.ids import SeededIds
from aex_runtime.store.spill import SpillingStore
from aex_runtime.store.sqlite import SQLiteStore
from aex_runtime.unit_of_work import Unit, UnitOfWork
from aex_settlement.deps import Deps
from aex_settlement.repository.ledger import create_transactions
from aex_settlement.repository.settlements import create_settlement
from aex_settlement.rules.booked import settlement_transaction
from tests.benchmarks.ledger.drawing import FIRST_DAY, drawn

SEED = 6
WRITERS = 2
_UNIT = 160
"""Settlements in one store transaction: each is three documents, and there may be 500."""
_PATIENCE_S = 900.0
"""Long enough to index everything anew."""


def store_file(folder: Path) -> Path:
    """Where a settlement service on this data directory keeps its records."""
    return folder / "settlement" / "store.sqlite3"


def open_books(folder: Path, clock: Clock) -> Deps:
    """The service's collaborators over the books in a data directory. Close its store."""
    records = SQLiteStore(store_file(folder), deadline_s=_PATIENCE_S)
    store = SpillingStore(records, open_blobs(f"file:///{folder}/blobs"))
    return Deps(UnitOfWork("settlement", store, clock, lambda _: None), store, clock, SeededIds(SEED), lambda: None)


@contextmanager
def writers(folder: Path) -> Iterator[list[Connection]]:
    """Processes that write the shares they are sent, and answer each with how many settlements it was."""
    context = get_context("spawn")
    pipes = [context.Pipe() for _ in range(WRITERS)]
    processes = [context.Process(target=write_shares, args=(folder, theirs), daemon=True) for _, theirs in pipes]
    for process, (_, theirs) in zip(processes, pipes, strict=True):
        process.start()
        theirs.close()
    try:
        yield [ours for ours, _ in pipes]
    finally:
        for process, (ours, _) in zip(processes, pipes, strict=True):
            ours.close()
            process.join()


def write_shares(folder: Path, orders: Connection) -> None:
    """The life of a writer: until there is nobody any more who gives orders."""
    asyncio.run(_write_shares(folder, orders))


async def _write_shares(folder: Path, orders: Connection) -> None:
    deps = open_books(folder, SetClock(FIRST_DAY))
    try:
        while True:
            share = orders.recv()
            settlements = drawn(share, SEED)
            while rows := list(islice(settlements, _UNIT)):
                await _write(deps, rows)
            orders.send(len(share))
    except EOFError:
        return
    finally:
        await deps.store.close()


async def _write(deps: Deps, rows: Sequence[Settlement]) -> None:
    async def book(unit: Unit) -> None:
        for each in rows:
            reason = f"outcome of {each.contract_id}"
            booked = settlement_transaction(each, 1, each.cost, each.settled_at, reason, "service:settlement")
            create_transactions(unit, booked)
            create_settlement(unit, each)

    await deps.unit_of_work.run(book)
