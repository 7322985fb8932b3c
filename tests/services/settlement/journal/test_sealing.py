import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from aex_runtime.leases import LeaseLost, Leases
from aex_runtime.store.port import Transaction, key_of
from aex_runtime.store.sqlite import SQLiteStore
from aex_runtime.store.table import Table
from aex_settlement.handlers.journal.seal import SealerState, seal_unsealed_transactions
from aex_settlement.handlers.read_ledger import read_trial_balance
from aex_settlement.repository.journal import BATCHES, HEAD, HEAD_KEY, UNSEALED, batch_key, find_batches_after
from aex_settlement.repository.ledger import TRANSACTIONS
from aex_settlement.rules.journal import BrokenJournal
from tests.libs.runtime.background import RecordingStore, lower_bound
from tests.services.settlement.audit.tampering import overwrite, read
from tests.services.settlement.journal.booking import Settled, book, transaction_of
from tests.services.settlement.journal.wholeness import checked_journal
from tests.services.settlement.ledger_kit import LedgerKit, ledger_kit_over
from tests.services.settlement.outcomes import NOON


def alarms(lines: list[Any]) -> list[tuple[str, str]]:
    return [(line["transaction_id"], line["reason"]) for line in lines if line.get("alarm")]


async def test_the_first_look_seals_an_empty_batch(ledger: LedgerKit) -> None:
    assert await seal_unsealed_transactions(ledger.deps) == 0
    (batch,) = (await checked_journal(ledger.deps.store)).batches
    assert (batch.seq, batch.sealed_at, batch.transactions) == (1, NOON, ())
    assert await seal_unsealed_transactions(ledger.deps) == 0
    assert len((await checked_journal(ledger.deps.store)).batches) == 1


async def test_what_came_together_is_sealed_together_oldest_first(ledger: LedgerKit) -> None:
    await ledger.seal()
    posted = []
    for contract in range(3):
        posted += await book(ledger, Settled(contract))
        ledger.clock.advance(timedelta(seconds=1))
    with capture_logs() as lines:
        assert await ledger.seal() == 3
    journal = await checked_journal(ledger.deps.store)
    assert [each.id for each in journal.sealed] == [each.id for each in posted]
    assert [len(batch.transactions) for batch in journal.batches] == [0, 3]
    (logged,) = [line for line in lines if line["event"] == "journal_sealed"]
    assert (logged["seq"], logged["hash"], logged["transactions"]) == (2, journal.batches[1].hash, 3)


async def test_more_than_fits_into_one_batch_is_sealed_in_several(ledger: LedgerKit) -> None:
    for start in range(0, 450, 50):
        await asyncio.gather(*(book(ledger, Settled(contract)) for contract in range(start, start + 50)))
    assert await ledger.seal() == 450
    journal = await checked_journal(ledger.deps.store)
    assert [len(batch.transactions) for batch in journal.batches] == [0, 200, 200, 50]


async def test_each_batch_is_later_than_the_one_before_whatever_the_clock_says(ledger: LedgerKit) -> None:
    for contract in range(3):
        await book(ledger, Settled(contract))
        await ledger.seal()
        ledger.clock.advance(-timedelta(hours=1))
    instants = [batch.sealed_at for batch in (await checked_journal(ledger.deps.store)).batches]
    assert instants == [NOON + timedelta(microseconds=each) for each in range(4)]


ALTERED: dict[str, tuple[Table[Any], Callable[[bytes, str], bytes | None]]] = {
    "altered": (TRANSACTIONS, lambda body, _: body.replace(b"bot", b"cat")),
    "gone": (TRANSACTIONS, lambda _body, _id: None),
    "unreadable": (UNSEALED, lambda _body, _id: b"{}"),
    "with a field more": (UNSEALED, lambda body, _: body.removesuffix(b"}") + b',"more":1}'),
    "another id": (UNSEALED, lambda body, transaction_id: body.replace(transaction_id.encode(), b"txn_other")),
}


@pytest.mark.parametrize("how", ALTERED)
async def test_altered_transaction_raises_an_alarm_and_delays_no_other(ledger: LedgerKit, how: str) -> None:
    (bad, good) = await book(ledger, Settled(1), Settled(2))
    table, alter = ALTERED[how]
    document = await read(ledger.deps.store, table, key_of(bad.id))
    await overwrite(ledger.deps.store, table, document.key, alter(document.body, bad.id))
    state = SealerState()
    with capture_logs() as lines:
        assert await seal_unsealed_transactions(ledger.deps, state=state) == 1
        assert await seal_unsealed_transactions(ledger.deps, state=state) == 0
    assert [each.id for batch in await find_batches_after(ledger.deps.store, 0, 9) for each in batch.transactions] == [
        good.id
    ]
    assert len(alarms(lines)) == len(state.refused) == 1, "it is logged once"
    await book(ledger, Settled(3))
    assert await seal_unsealed_transactions(ledger.deps, state=state) == 1


async def test_journal_with_a_reset_head_is_broken(ledger: LedgerKit) -> None:
    await ledger.seal()
    opening = await ledger.deps.store.get(HEAD.collection, HEAD_KEY)
    await book(ledger, Settled(1))
    await ledger.seal()
    await book(ledger, Settled(2))
    assert opening is not None
    await overwrite(ledger.deps.store, HEAD, HEAD_KEY, opening.body)
    with pytest.raises(BrokenJournal, match="batch 2"):
        await ledger.seal()
    assert await BATCHES.get(ledger.deps.store, batch_key(3)) is None


async def test_a_sealer_that_lost_its_lease_writes_nothing(ledger: LedgerKit) -> None:
    await ledger.seal()
    await book(ledger, Settled(1))
    ttl = timedelta(seconds=10)
    one, other = (Leases("settlement", ledger.deps.store, ledger.clock, holder=name) for name in ("one", "other"))
    lease = await one.acquire("sealer", ttl)
    assert lease is not None
    ledger.clock.advance(ttl * 2)
    assert await other.acquire("sealer", ttl) is not None

    async def guard(transaction: Transaction) -> None:
        await one.require_lease(transaction, lease)

    with pytest.raises(LeaseLost):
        await seal_unsealed_transactions(ledger.deps, guard)
    assert len((await checked_journal(ledger.deps.store)).batches) == 1


async def test_sealers_in_several_processes_seal_each_transaction_once(tmp_path: Path) -> None:
    stores = [SQLiteStore(tmp_path / "store.sqlite3") for _ in range(3)]
    ledgers = [ledger_kit_over(store, NOON) for store in stores]
    for start in range(0, 120, 40):
        await book(ledgers[0], *(Settled(contract) for contract in range(start, start + 40)))
        await asyncio.gather(*(ledger.seal() for ledger in ledgers))
    journal = await checked_journal(stores[0])
    assert len(journal.sealed) == 120
    for store in stores:
        await store.close()


async def test_a_look_begins_where_the_last_one_left_something(ledger: LedgerKit) -> None:
    requested = RecordingStore(ledger.deps.store)
    deps, state = replace(ledger.deps, store=requested), SealerState()
    await book(ledger, Settled(1))

    async def began() -> Any:
        await seal_unsealed_transactions(deps, state=state)
        (query,) = [each for each in requested.take_queries() if each.collection == UNSEALED.collection]
        return lower_bound(query)

    assert await began() is None
    ledger.clock.advance(timedelta(seconds=30))
    await began()
    floor = await began()
    assert isinstance(floor, int), "what was deleted before is not walked over again"
    ledger.clock.advance(timedelta(minutes=2))
    assert await began() is None, "now and then a look begins at the beginning"


async def test_an_adjustment_of_a_hundred_postings_is_sealed(ledger: LedgerKit) -> None:
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
    await book(ledger, wide, *(Settled(contract) for contract in range(2, 50)))
    assert await ledger.seal() == 49
    await checked_journal(ledger.deps.store)


async def test_clock_behind_the_journal_raises_an_alarm(ledger: LedgerKit) -> None:
    await book(ledger, Settled(1))
    await ledger.seal()
    ledger.clock.advance(-timedelta(days=400))
    await book(ledger, Settled(2))
    with capture_logs() as logs:
        assert await ledger.seal() == 1
    [logged] = [each for each in logs if each["event"] == "clock_behind_journal"]
    assert logged["alarm"] is True
    balance = await read_trial_balance(ledger.deps, None)
    assert balance.complete_to is not None
    assert balance.as_of == balance.complete_to > ledger.clock.now()
