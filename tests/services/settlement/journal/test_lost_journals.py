import asyncio
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from aex_runtime.store.memory import MemoryStore
from aex_runtime.store.port import Store
from aex_runtime.store.table import Table
from aex_settlement.handlers.journal.seal import SealerState, seal_unsealed_transactions
from aex_settlement.repository.journal import BATCHES, HEAD, HEAD_KEY, batch_key, read_journal_head
from aex_settlement.repository.projections import STATES
from aex_settlement.rules.journal import BrokenJournal
from aex_settlement.rules.projections import Projection
from aex_settlement.sealer import SealerPolicy, seal_and_project
from tests.libs.runtime.background import eventually_async, running
from tests.services.settlement.audit.tampering import delete, overwrite
from tests.services.settlement.journal.booking import Settled, book
from tests.services.settlement.journal.test_sealer import process_over
from tests.services.settlement.ledger_kit import LedgerKit, ledger_kit_over, open_store
from tests.services.settlement.outcomes import NOON

STORES = ["memory"]
WATERMARKS: Sequence[tuple[Table[Any], str]] = [(STATES, each.value) for each in Projection]
JOURNAL: Sequence[tuple[Table[Any], str]] = [(HEAD, HEAD_KEY), (BATCHES, batch_key(1)), (BATCHES, batch_key(2))]


async def lose(store: Store, what: Sequence[tuple[Table[Any], str]]) -> None:
    for table, key in what:
        await delete(store, table, key)


@pytest.mark.parametrize(
    ("lost", "trace"),
    [
        (JOURNAL, "a projection has applied batch 2"),
        ([*JOURNAL, WATERMARKS[0]], "a projection has applied batch 2"),
        ([*JOURNAL[:2], *WATERMARKS], "there is batch 2"),
        ([*JOURNAL, *WATERMARKS], "waits no more: it was sealed"),
    ],
    ids=["journal", "and one watermark", "head, a batch and watermarks", "and all watermarks"],
)
async def test_no_second_chain_is_begun(ledger: LedgerKit, lost: Sequence[tuple[Table[Any], str]], trace: str) -> None:
    await book(ledger, Settled(1))
    await ledger.seal()
    head = await read_journal_head(ledger.deps.store)
    assert head is not None
    assert head.seq == 2
    ledger.clock.advance(timedelta(seconds=1))
    await book(ledger, Settled(2))
    await lose(ledger.deps.store, lost)
    for _ in range(2):
        with pytest.raises(BrokenJournal, match=f"batch 1: the journal's head is missing, and .*{trace}"):
            await ledger.seal()
    assert await read_journal_head(ledger.deps.store) is None


async def test_unreadable_watermark_is_a_trace_of_a_journal(ledger: LedgerKit) -> None:
    await ledger.seal()
    for table, key in WATERMARKS:
        await overwrite(ledger.deps.store, table, key, b"{}")
    await book(ledger, Settled(1))
    assert await seal_unsealed_transactions(ledger.deps) == 1
    await lose(ledger.deps.store, JOURNAL)
    with pytest.raises(BrokenJournal, match="batch 1"):
        await seal_unsealed_transactions(ledger.deps)


async def test_removed_batches_are_not_sealed_twice(ledger: LedgerKit) -> None:
    await book(ledger, Settled(1))
    await seal_unsealed_transactions(ledger.deps)
    before = await ledger.deps.store.get(HEAD.collection, HEAD_KEY)
    await book(ledger, Settled(2))
    await ledger.seal()
    assert before is not None
    await overwrite(ledger.deps.store, HEAD, HEAD_KEY, before.body)
    await delete(ledger.deps.store, BATCHES, batch_key(3))
    await book(ledger, Settled(3))
    with pytest.raises(BrokenJournal, match="batch 3: it is missing, and a projection has applied batch 3"):
        await ledger.seal()


async def test_running_sealer_finds_lost_batches_in_a_full_run(tmp_path: Path) -> None:
    async with open_store("memory", tmp_path) as store:
        ledger, state = ledger_kit_over(store, NOON), SealerState()
        await book(ledger, Settled(1))
        await seal_unsealed_transactions(ledger.deps, state=state)
        before = await store.get(HEAD.collection, HEAD_KEY)
        await book(ledger, Settled(2))
        await seal_and_project(ledger.deps, state=state)
        assert before is not None
        await overwrite(ledger.deps.store, HEAD, HEAD_KEY, before.body)
        await delete(store, BATCHES, batch_key(3))
        ledger.clock.advance(timedelta(minutes=1))
        with pytest.raises(BrokenJournal, match="batch 3"):
            await seal_and_project(ledger.deps, state=state)


async def test_the_alarm_is_given_for_as_long_as_the_journal_is_lost() -> None:
    process = process_over(MemoryStore(), SealerPolicy(max_wakeup_wait=timedelta(milliseconds=10)))
    await process.settle("ctr_1")
    await seal_and_project(process.deps)
    await lose(process.deps.store, JOURNAL)
    await process.settle("ctr_2")
    with capture_logs() as lines:
        async with running(process.sealer.run()):

            async def logged_twice() -> bool:
                return len([line for line in lines if line["event"] == "journal_broken"]) >= 2

            await eventually_async(logged_twice)
    alarm = next(line for line in lines if line["event"] == "journal_broken")
    assert (alarm["alarm"], alarm["batch"]) == (True, 1)
    assert await read_journal_head(process.deps.store) is None


async def test_concurrent_first_sealers_report_no_loss(ledger: LedgerKit) -> None:
    await book(ledger, Settled(1))
    assert sum(await asyncio.gather(*(seal_and_project(ledger.deps) for _ in range(4)))) == 1
