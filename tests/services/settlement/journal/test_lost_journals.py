"""Where batches are gone no others are sealed in their place: a second chain would hide the first."""

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
from aex_settlement.handlers.journal.seal import Lookout, seal_waiting
from aex_settlement.repository.journal import BATCHES, HEAD, HEAD_KEY, batch_key, read_head
from aex_settlement.repository.projections import STATES
from aex_settlement.rules.broken import BrokenJournal
from aex_settlement.rules.projected import Projection
from aex_settlement.sealer import SealerPolicy, catch_up
from tests.libs.runtime.background import eventually_async, running
from tests.services.settlement.audit.tampering import delete
from tests.services.settlement.desk import Desk, desk_over, open_store
from tests.services.settlement.journal.booking import Settled, book
from tests.services.settlement.journal.test_sealer import process_over
from tests.services.settlement.journal.test_sealing import tamper
from tests.services.settlement.outcomes import NOON

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
async def test_no_second_chain_is_begun(desk: Desk, lost: Sequence[tuple[Table[Any], str]], trace: str) -> None:
    await book(desk, Settled(1))
    await desk.seal()
    head = await read_head(desk.deps.store)
    assert head is not None
    assert head.record.seq == 2
    desk.clock.advance(timedelta(seconds=1))
    await book(desk, Settled(2))
    await lose(desk.deps.store, lost)
    for _ in range(2):
        with pytest.raises(BrokenJournal, match=f"batch 1: the journal's head is missing, and .*{trace}"):
            await desk.seal()
    assert await read_head(desk.deps.store) is None


async def test_a_watermark_that_cannot_be_read_is_a_trace_and_keeps_nobody_from_sealing_behind_the_head(
    desk: Desk,
) -> None:
    await desk.seal()
    for table, key in WATERMARKS:
        await tamper(desk, table.collection, key, b"{}")
    await book(desk, Settled(1))
    assert await seal_waiting(desk.deps) == 1
    await lose(desk.deps.store, JOURNAL)
    with pytest.raises(BrokenJournal, match="batch 1"):
        await seal_waiting(desk.deps)


async def test_what_was_cut_off_is_not_sealed_anew(desk: Desk) -> None:
    await book(desk, Settled(1))
    await seal_waiting(desk.deps)
    before = await desk.deps.store.get(HEAD.collection, HEAD_KEY)
    await book(desk, Settled(2))
    await desk.seal()
    assert before is not None
    await tamper(desk, HEAD.collection, HEAD_KEY, before.body)
    await delete(desk.deps.store, BATCHES, batch_key(3))
    await book(desk, Settled(3))
    with pytest.raises(BrokenJournal, match="batch 3: it is missing, and a projection has applied batch 3"):
        await desk.seal()


async def test_a_sealer_that_goes_on_sees_it_too_whenever_it_looks_from_the_beginning(tmp_path: Path) -> None:
    async with open_store("memory", tmp_path) as store:
        desk, lookout = desk_over(store, NOON), Lookout()
        await book(desk, Settled(1))
        await seal_waiting(desk.deps, lookout=lookout)
        before = await store.get(HEAD.collection, HEAD_KEY)
        await book(desk, Settled(2))
        await catch_up(desk.deps, lookout=lookout)
        assert before is not None
        await tamper(desk, HEAD.collection, HEAD_KEY, before.body)
        await delete(store, BATCHES, batch_key(3))
        desk.clock.advance(timedelta(minutes=1))
        with pytest.raises(BrokenJournal, match="batch 3"):
            await catch_up(desk.deps, lookout=lookout)


async def test_the_alarm_is_given_for_as_long_as_the_journal_is_lost() -> None:
    process = process_over(MemoryStore(), SealerPolicy(poll=timedelta(milliseconds=10)))
    await process.settle("ctr_1")
    await catch_up(process.deps)
    await lose(process.deps.store, JOURNAL)
    await process.settle("ctr_2")
    with capture_logs() as lines:
        async with running(process.sealer.run()):

            async def told_twice() -> bool:
                return len([line for line in lines if line["event"] == "journal_broken"]) >= 2

            await eventually_async(told_twice)
    alarm = next(line for line in lines if line["event"] == "journal_broken")
    assert (alarm["alarm"], alarm["batch"]) == (True, 1)
    assert await read_head(process.deps.store) is None


async def test_sealers_that_begin_together_take_each_other_for_no_loss(desk: Desk) -> None:
    await book(desk, Settled(1))
    assert sum(await asyncio.gather(*(catch_up(desk.deps) for _ in range(4)))) == 1
