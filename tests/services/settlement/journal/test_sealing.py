"""Sealing: each committed transaction into one batch, in order, chained; what was altered stays outside."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from aex_runtime.leases import LeaseLost, Leases
from aex_runtime.store.keys import key_of
from aex_runtime.store.port import Collection, Transaction
from aex_runtime.store.sqlite import SQLiteStore
from aex_settlement.handlers.journal.seal import Lookout, seal_waiting
from aex_settlement.handlers.read_ledger import read_trial_balance
from aex_settlement.repository.journal import BATCHES, HEAD, HEAD_KEY, UNSEALED, batch_key, batches_after
from aex_settlement.repository.ledger import TRANSACTIONS
from aex_settlement.rules.broken import BrokenJournal
from tests.libs.runtime.background import AskedStore, begins
from tests.services.settlement.desk import Desk, desk_over
from tests.services.settlement.journal.booking import Settled, book, transaction_of
from tests.services.settlement.journal.wholeness import checked_journal
from tests.services.settlement.outcomes import NOON


async def tamper(desk: Desk, collection: Collection, key: str, body: bytes | None) -> None:
    """Put other bytes into a stored document, behind everybody's back; or take it away."""

    async def write(transaction: Transaction) -> None:
        seen = await transaction.get(collection, key)
        assert seen is not None
        if body is None:
            transaction.delete(collection, key)
        else:
            transaction.put(collection, key, body, seen.fields)

    await desk.deps.store.transact(write)


def alarms(lines: list[Any]) -> list[tuple[str, str]]:
    return [(line["transaction_id"], line["reason"]) for line in lines if line.get("alarm")]


async def test_the_first_look_seals_an_empty_batch(desk: Desk) -> None:
    assert await seal_waiting(desk.deps) == 0
    (batch,) = (await checked_journal(desk.deps.store)).batches
    assert (batch.seq, batch.sealed_at, batch.transactions) == (1, NOON, ())
    assert await seal_waiting(desk.deps) == 0
    assert len((await checked_journal(desk.deps.store)).batches) == 1


async def test_what_came_together_is_sealed_together_oldest_first(desk: Desk) -> None:
    await desk.seal()
    booked = []
    for contract in range(3):
        booked += await book(desk, Settled(contract))
        desk.clock.advance(timedelta(seconds=1))
    with capture_logs() as lines:
        assert await desk.seal() == 3
    journal = await checked_journal(desk.deps.store)
    assert [each.id for each in journal.sealed] == [each.id for each in booked]
    assert [len(batch.transactions) for batch in journal.batches] == [0, 3]
    (told,) = [line for line in lines if line["event"] == "journal_sealed"]
    assert (told["seq"], told["hash"], told["transactions"]) == (2, journal.batches[1].hash, 3)


async def test_more_than_fits_into_one_batch_is_sealed_in_several(desk: Desk) -> None:
    for start in range(0, 450, 50):
        await asyncio.gather(*(book(desk, Settled(contract)) for contract in range(start, start + 50)))
    assert await desk.seal() == 450
    journal = await checked_journal(desk.deps.store)
    assert [len(batch.transactions) for batch in journal.batches] == [0, 200, 200, 50]


async def test_each_batch_is_later_than_the_one_before_whatever_the_clock_says(desk: Desk) -> None:
    for contract in range(3):
        await book(desk, Settled(contract))
        await desk.seal()
        desk.clock.advance(-timedelta(hours=1))
    instants = [batch.sealed_at for batch in (await checked_journal(desk.deps.store)).batches]
    assert instants == [NOON + timedelta(microseconds=each) for each in range(4)]


@pytest.mark.parametrize("how", ["altered", "gone", "unreadable", "with a field more", "another id"])
async def test_what_is_not_as_it_was_committed_is_told_of_and_holds_up_nobody(desk: Desk, how: str) -> None:
    (bad, good) = await book(desk, Settled(1), Settled(2))
    key = key_of(bad.id)
    whole = await desk.deps.store.get(TRANSACTIONS.collection, key)
    assert whole is not None
    if how == "altered":
        await tamper(desk, TRANSACTIONS.collection, key, whole.body.replace(b"bot", b"cat"))
    elif how == "gone":
        await tamper(desk, TRANSACTIONS.collection, key, None)
    elif how == "unreadable":
        await tamper(desk, UNSEALED.collection, key, b"{}")
    elif how == "with a field more":
        row = await desk.deps.store.get(UNSEALED.collection, key)
        assert row is not None
        await tamper(desk, UNSEALED.collection, key, row.body.removesuffix(b"}") + b',"more":1}')
    else:
        row = await desk.deps.store.get(UNSEALED.collection, key)
        assert row is not None
        await tamper(desk, UNSEALED.collection, key, row.body.replace(bad.id.encode(), b"txn_other"))
    lookout = Lookout()
    with capture_logs() as lines:
        assert await seal_waiting(desk.deps, lookout=lookout) == 1
        assert await seal_waiting(desk.deps, lookout=lookout) == 0
    assert [each.id for batch in await batches_after(desk.deps.store, 0, 9) for each in batch.transactions] == [good.id]
    assert len(alarms(lines)) == len(lookout.refused) == 1, "it is told of once"
    await book(desk, Settled(3))
    assert await seal_waiting(desk.deps, lookout=lookout) == 1


async def test_what_was_altered_is_sealed_once_it_is_restored(desk: Desk) -> None:
    (transaction,) = await book(desk, Settled(1))
    key = key_of(transaction.id)
    whole = await desk.deps.store.get(TRANSACTIONS.collection, key)
    assert whole is not None
    await tamper(desk, TRANSACTIONS.collection, key, whole.body.replace(b"bot", b"cat"))
    lookout = Lookout()
    with capture_logs() as lines:
        assert await seal_waiting(desk.deps, lookout=lookout) == 0
    assert alarms(lines) == [(transaction.id, "it was altered")]
    await tamper(desk, TRANSACTIONS.collection, key, whole.body)
    assert await seal_waiting(desk.deps, lookout=lookout) == 1
    assert not lookout.refused
    await checked_journal(desk.deps.store)


async def test_a_journal_whose_head_was_set_back_is_not_gone_on_with(desk: Desk) -> None:
    await desk.seal()
    opening = await desk.deps.store.get(HEAD.collection, HEAD_KEY)
    await book(desk, Settled(1))
    await desk.seal()
    await book(desk, Settled(2))
    assert opening is not None
    await tamper(desk, HEAD.collection, HEAD_KEY, opening.body)
    with pytest.raises(BrokenJournal, match="batch 2"):
        await desk.seal()
    await tamper(desk, HEAD.collection, HEAD_KEY, None)
    with pytest.raises(BrokenJournal, match="batch 1"):
        await desk.seal()
    assert await BATCHES.get(desk.deps.store, batch_key(3)) is None


async def test_a_sealer_that_lost_its_lease_writes_nothing(desk: Desk) -> None:
    await desk.seal()
    await book(desk, Settled(1))
    ttl = timedelta(seconds=10)
    one, other = (Leases("settlement", desk.deps.store, desk.clock, holder=name) for name in ("one", "other"))
    lease = await one.acquire("sealer", ttl)
    assert lease is not None
    desk.clock.advance(ttl * 2)
    assert await other.acquire("sealer", ttl) is not None

    async def guard(transaction: Transaction) -> None:
        await one.guard(transaction, lease)

    with pytest.raises(LeaseLost):
        await seal_waiting(desk.deps, guard)
    assert len((await checked_journal(desk.deps.store)).batches) == 1


async def test_sealers_in_several_processes_seal_each_transaction_once(tmp_path: Path) -> None:
    stores = [SQLiteStore(tmp_path / "store.sqlite3") for _ in range(3)]
    desks = [desk_over(store, NOON) for store in stores]
    for start in range(0, 120, 40):
        await book(desks[0], *(Settled(contract) for contract in range(start, start + 40)))
        await asyncio.gather(*(desk.seal() for desk in desks))
    journal = await checked_journal(stores[0])
    assert len(journal.sealed) == 120
    for store in stores:
        await store.close()


async def test_a_look_begins_where_the_last_one_left_something(desk: Desk) -> None:
    asked = AskedStore(desk.deps.store)
    deps, lookout = replace(desk.deps, store=asked), Lookout()
    await book(desk, Settled(1))

    async def began() -> Any:
        await seal_waiting(deps, lookout=lookout)
        (query,) = [each for each in asked.took() if each.collection == UNSEALED.collection]
        return begins(query)

    assert await began() is None
    desk.clock.advance(timedelta(seconds=30))
    await began()
    floor = await began()
    assert isinstance(floor, int), "what was deleted before is not walked over again"
    desk.clock.advance(timedelta(minutes=2))
    assert await began() is None, "now and then a look begins at the beginning"


async def test_an_adjustment_of_a_hundred_postings_is_sealed(desk: Desk) -> None:
    transaction = transaction_of(Settled(1), NOON)
    wide = transaction.model_copy(
        update={
            "booking": None,
            "reason": '"\n' * 150,
            "postings": tuple(
                transaction.postings[0].model_copy(update={"account": f"agent:{each}", "amount": 1 - 2 * (each % 2)})
                for each in range(100)
            ),
        }
    )
    await book(desk, wide, *(Settled(contract) for contract in range(2, 50)))
    assert await desk.seal() == 49
    await checked_journal(desk.deps.store)


async def test_a_clock_that_was_set_back_is_told_of_and_the_books_go_on(desk: Desk) -> None:
    await book(desk, Settled(1))
    await desk.seal()
    desk.clock.advance(-timedelta(days=400))
    await book(desk, Settled(2))
    with capture_logs() as logs:
        assert await desk.seal() == 1
    [told] = [each for each in logs if each["event"] == "clock_behind_journal"]
    assert told["alarm"] is True
    balance = await read_trial_balance(desk.deps, None)
    assert balance.complete_to is not None
    assert balance.as_of == balance.complete_to > desk.clock.now()
