"""Whatever is altered, removed, added or moved past the service is found, and named."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest

from aex_models.settlement import LedgerTransaction, Posting, TransactionKind
from aex_runtime.store.keys import key_of
from aex_runtime.store.port import Store
from aex_runtime.store.table import Table
from aex_settlement.repository.journal import BATCHES, HEAD, HEAD_KEY, UNSEALED, batch_key, read_head
from aex_settlement.repository.ledger import TRANSACTIONS
from aex_settlement.repository.projections import BALANCES, DAYS, ROLLUPS, SHEETS, STATES
from aex_settlement.repository.settlements import SETTLEMENTS
from aex_settlement.rules.audit.findings import Seal
from aex_settlement.rules.ids import reversal_transaction_id, settlement_transaction_id
from aex_settlement.rules.journal import JournalHead, SealedTransaction
from tests.services.settlement.audit import tampering as t
from tests.services.settlement.audit.ledgers import BATCHES as LAST
from tests.services.settlement.audit.ledgers import adjust, audit, build, deposit, found
from tests.services.settlement.desk import Desk
from tests.services.settlement.outcomes import NOON

CTR_3 = settlement_transaction_id("ctr_3", 1)
CTR_4 = settlement_transaction_id("ctr_4", 1)
CTR_2_BACK = reversal_transaction_id("ctr_2", 1)
Tamper = Callable[[Store], Awaitable[None]]
Found = tuple[str, str]


def a_transaction(transaction_id: str = "txn_forged", micros: int = 70_000_000) -> LedgerTransaction:
    """A deposit that nobody made."""
    return LedgerTransaction(
        id=transaction_id,
        kind=TransactionKind.DEPOSIT,
        postings=(
            Posting(account="platform:cash", amount=micros, currency="USD"),
            Posting(account="consumer:acme", amount=-micros, currency="USD"),
        ),
        occurred_at=NOON,
        reason="wire 2",
        by="finance:ann",
    )


async def alter_amount(store: Store) -> None:
    await t.edit(store, TRANSACTIONS, key_of(CTR_3), lambda record: t.with_amount(record, 1_000_000))


async def alter_amount_and_digest(store: Store) -> None:
    await alter_amount(store)
    batch = await t.batch_of(store, CTR_3)
    await t.save(store, BATCHES, batch_key(batch.seq), t.resealed(batch, CTR_3, await t.digest_of(store, CTR_3)))


async def alter_amount_digest_and_hash(store: Store) -> None:
    """All but the link of the next batch."""
    batch, following = await t.batch(store, 3), await t.batch(store, 4)
    await alter_amount(store)
    await t.rechain(store, t.resealed(batch, CTR_3, await t.digest_of(store, CTR_3)))
    await t.save(store, BATCHES, batch_key(4), following)


async def alter_the_day(store: Store) -> None:
    document = await t.read(store, TRANSACTIONS, key_of(CTR_3))
    await t.edit_fields(store, TRANSACTIONS, document.key, agent_id="somebody")


async def unbalance(store: Store) -> None:
    def change(record: Any) -> None:
        record["postings"][0]["amount"] += 1

    await t.edit(store, TRANSACTIONS, key_of(CTR_3), change)


async def delete_transaction(store: Store) -> None:
    await t.delete(store, TRANSACTIONS, key_of(CTR_3))


async def delete_transaction_and_entry(store: Store) -> None:
    await delete_transaction(store)
    batch = await t.batch_of(store, CTR_3)
    await t.save(store, BATCHES, batch_key(batch.seq), t.resealed(batch, CTR_3, None))


async def delete_entry(store: Store) -> None:
    batch = await t.batch_of(store, CTR_3)
    await t.rechain(store, t.resealed(batch, CTR_3, None))


async def delete_batch(store: Store) -> None:
    await t.delete(store, BATCHES, batch_key(3))


async def add_transaction(store: Store) -> None:
    await t.add(store, a_transaction(), waiting=False)


async def add_transaction_under_a_known_id(store: Store) -> None:
    document = await t.read(store, TRANSACTIONS, key_of(CTR_3))
    await t.put(store, TRANSACTIONS, f"zzzz-{CTR_3}", document.body, document.fields)


async def add_a_waiting_settlement(store: Store) -> None:
    document = await t.read(store, TRANSACTIONS, key_of(CTR_3))
    booked = TRANSACTIONS.decode(document).record
    forged = booked.model_copy(update={"id": settlement_transaction_id("ctr_new", 1), "contract_id": "ctr_new"})
    await t.add(store, forged, waiting=True)


async def add_a_second_settlement(store: Store) -> None:
    """Of a contract that is settled: the next revision, which nobody asked for."""
    booked = TRANSACTIONS.decode(await t.read(store, TRANSACTIONS, key_of(CTR_3))).record
    assert booked.booking is not None
    booking = booked.booking.model_copy(update={"revision": 2})
    made = settlement_transaction_id("ctr_3", 2)
    await t.add(store, booked.model_copy(update={"id": made, "booking": booking}), waiting=True)


async def alter_what_waits(store: Store) -> None:
    await t.add(store, a_transaction(), waiting=True)
    await t.edit(store, TRANSACTIONS, key_of("txn_forged"), lambda record: t.with_amount(record, 80_000_000))


async def remove_what_waits(store: Store) -> None:
    await t.add(store, a_transaction(), waiting=True)
    await t.delete(store, TRANSACTIONS, key_of("txn_forged"))


async def hide_what_waits(store: Store) -> None:
    """Take the row out of the index that the sealer reads."""
    await t.add(store, a_transaction(), waiting=True)
    await t.edit_fields(store, UNSEALED, key_of("txn_forged"), occurred_at=None)


async def seal_twice(store: Store) -> None:
    batch = await t.batch(store, LAST)
    sealed = SealedTransaction(id=CTR_3, digest=await t.digest_of(store, CTR_3))
    await t.rechain(store, batch.model_copy(update={"transactions": (*batch.transactions, sealed)}))


async def cut_batches(store: Store) -> None:
    """The last batch goes; head and watermarks stay."""
    await t.delete(store, BATCHES, batch_key(LAST))


async def cut_batches_and_head(store: Store) -> None:
    await t.cut_tail(store, LAST - 1)


async def set_head_back(store: Store) -> None:
    batch = await t.batch(store, LAST - 1)
    await t.save(store, HEAD, HEAD_KEY, JournalHead(seq=batch.seq, sealed_at=batch.sealed_at, hash=batch.hash))


async def set_head_far_ahead(store: Store) -> None:
    await t.edit(store, HEAD, HEAD_KEY, lambda head: head.update(seq=10**12))


async def remove_head(store: Store) -> None:
    await t.delete(store, HEAD, HEAD_KEY)


async def swap_transactions(store: Store) -> None:
    await t.swap(store, CTR_3, CTR_4)


async def swap_in_a_batch(store: Store) -> None:
    batch = await t.batch(store, 3)
    swapped = batch.model_copy(update={"transactions": batch.transactions[::-1]})
    await t.save(store, BATCHES, batch_key(3), swapped)


async def hide_a_batch(store: Store) -> None:
    await t.edit_fields(store, BATCHES, batch_key(3), seq=None)


async def backdate_a_batch(store: Store) -> None:
    batch, before = await t.batch(store, 4), await t.batch(store, 3)
    await t.rechain(store, batch.model_copy(update={"sealed_at": before.sealed_at - timedelta(days=9)}))


async def alter_a_reversal(store: Store) -> None:
    """Half of it stays with the agent, and the journal is made to fit."""

    def change(record: Any) -> None:
        record["postings"][1]["amount"] -= 10
        record["postings"][2]["amount"] += 10

    await t.edit(store, TRANSACTIONS, key_of(CTR_2_BACK), change)
    batch = await t.batch_of(store, CTR_2_BACK)
    await t.rechain(store, t.resealed(batch, CTR_2_BACK, await t.digest_of(store, CTR_2_BACK)))


async def edit_settlement(store: Store) -> None:
    def change(record: Any) -> None:
        record["agent_id"] = "crony"

    await t.edit(store, SETTLEMENTS, key_of("ctr_3"), change)


async def edit_cost_of_settlement(store: Store) -> None:
    def change(record: Any) -> None:
        for cost in (record["cost"], record["revisions"][0]["cost"]):
            cost.update(base="8.50", total="9.00")
            cost["breakdown"]["cpc"] = "8.50"

    await t.edit(store, SETTLEMENTS, key_of("ctr_3"), change)


async def edit_total_of_settlement(store: Store) -> None:
    await t.edit(store, SETTLEMENTS, key_of("ctr_3"), lambda record: record["cost"].update(total="9.00"))


async def edit_reason(store: Store) -> None:
    def change(record: Any) -> None:
        record["revisions"][0]["reason"] = "as agreed"

    await t.edit(store, SETTLEMENTS, key_of("ctr_1"), change)


async def hide_reversal(store: Store) -> None:
    def change(record: Any) -> None:
        record["status"] = "settled"
        record["revisions"][0]["reversed_at"] = None

    await t.edit(store, SETTLEMENTS, key_of("ctr_2"), change)
    await t.edit_fields(store, SETTLEMENTS, key_of("ctr_2"), status="settled")


async def delete_settlement(store: Store) -> None:
    await t.delete(store, SETTLEMENTS, key_of("ctr_3"))


async def hide_settlement(store: Store) -> None:
    await t.edit_fields(store, SETTLEMENTS, key_of("ctr_3"), settled_at=None)


async def move_settlement(store: Store) -> None:
    await t.edit_fields(store, SETTLEMENTS, key_of("ctr_3"), agent_id="crony")


async def add_settlement(store: Store) -> None:
    settlement = SETTLEMENTS.decode(await t.read(store, SETTLEMENTS, key_of("ctr_3"))).record
    cost = settlement.cost.model_copy(update={"contract_id": "ctr_new"})
    revision = settlement.revisions[0].model_copy(update={"cost": cost})
    forged = settlement.model_copy(update={"contract_id": "ctr_new", "cost": cost, "revisions": (revision,)})
    await t.save(store, SETTLEMENTS, key_of("ctr_new"), forged)


async def copy_settlement(store: Store) -> None:
    document = await t.read(store, SETTLEMENTS, key_of("ctr_3"))
    await t.put(store, SETTLEMENTS, "zzzz-ctr_3", document.body, document.fields)


def garbling(table: Table[Any], key: str) -> Tamper:
    """The document stays, and holds no record any more."""

    async def garble(store: Store) -> None:
        if table is UNSEALED:
            await t.add(store, a_transaction(), waiting=True)
        document = await t.read(store, table, key)
        await t.put(store, table, key, b'{"nonsense":1}', document.fields)

    return garble


CASES: dict[str, tuple[Tamper, set[Found]]] = {
    "amount": (alter_amount, {("transaction_altered", CTR_3)}),
    "amount and digest": (alter_amount_and_digest, {("batch_altered", "batch 3")}),
    "amount, digest and hash": (alter_amount_digest_and_hash, {("chain_broken", "batch 4")}),
    "index fields": (alter_the_day, {("transaction_altered", CTR_3)}),
    "postings that do not balance": (unbalance, {("transaction_altered", CTR_3), ("transaction_wrong", CTR_3)}),
    "transaction removed": (delete_transaction, {("transaction_missing", CTR_3)}),
    "transaction and entry removed": (delete_transaction_and_entry, {("batch_altered", "batch 3")}),
    "entry removed": (delete_entry, {("transaction_added", CTR_3)}),
    "batch removed": (delete_batch, {("batch_missing", "batch 3"), ("transaction_added", CTR_3)}),
    "transaction added": (add_transaction, {("transaction_added", "txn_forged")}),
    "transaction twice": (add_transaction_under_a_known_id, {("transaction_added", CTR_3)}),
    "settlement that waits": (
        add_a_waiting_settlement,
        {("transaction_added", settlement_transaction_id("ctr_new", 1))},
    ),
    "revision that waits": (add_a_second_settlement, {("transaction_added", settlement_transaction_id("ctr_3", 2))}),
    "what waits altered": (alter_what_waits, {("waiting_altered", "txn_forged")}),
    "what waits removed": (remove_what_waits, {("waiting_missing", "txn_forged")}),
    "what waits hidden": (hide_what_waits, {("transaction_added", "txn_forged")}),
    "sealed twice": (seal_twice, {("transaction_repeated", CTR_3)}),
    "last batch removed": (cut_batches, {("batch_missing", f"batch {LAST}"), ("transaction_added", CTR_4)}),
    "tail cut": (cut_batches_and_head, {("transaction_added", CTR_4)}),
    "head set back": (set_head_back, {("batch_added", f"batch {LAST}"), ("transaction_added", CTR_4)}),
    "head far ahead": (set_head_far_ahead, {("batch_missing", f"batch {LAST + 1}")}),
    "head removed": (remove_head, {("head_wrong", "the journal's head")}),
    "transactions swapped": (swap_transactions, {("transaction_altered", CTR_3), ("transaction_altered", CTR_4)}),
    "order in a batch": (swap_in_a_batch, {("batch_altered", "batch 3")}),
    "batch hidden": (hide_a_batch, {("batch_missing", "batch 3")}),
    "batch backdated": (backdate_a_batch, {("batch_altered", "batch 4")}),
    "reversal": (alter_a_reversal, {("transaction_wrong", CTR_2_BACK)}),
    "settlement": (edit_settlement, {("settlement_wrong", "ctr_3"), ("settlement_differs", "ctr_3")}),
    "settlement's cost": (edit_cost_of_settlement, {("settlement_differs", "ctr_3")}),
    "settlement's total": (edit_total_of_settlement, {("settlement_wrong", "ctr_3")}),
    "settlement's reason": (edit_reason, {("settlement_differs", "ctr_1")}),
    "settlement's reversal": (hide_reversal, {("settlement_differs", "ctr_2")}),
    "settlement removed": (delete_settlement, {("settlement_missing", "ctr_3")}),
    "settlement hidden": (hide_settlement, {("settlement_wrong", "ctr_3")}),
    "settlement listed as another's": (move_settlement, {("settlement_wrong", "ctr_3")}),
    "settlement added": (add_settlement, {("settlement_differs", "ctr_new")}),
    "head garbled": (garbling(HEAD, HEAD_KEY), {("head_wrong", "the journal's head")}),
    "batch garbled": (garbling(BATCHES, batch_key(3)), {("batch_missing", "batch 3")}),
    "transaction garbled": (
        garbling(TRANSACTIONS, key_of(CTR_3)),
        {("transaction_altered", CTR_3), ("transaction_wrong", CTR_3), ("settlement_differs", "ctr_3")},
    ),
    "what waits garbled": (garbling(UNSEALED, key_of("txn_forged")), {("transaction_added", "txn_forged")}),
    "settlement garbled": (
        garbling(SETTLEMENTS, key_of("ctr_3")),
        {("settlement_wrong", "ctr_3")},
    ),
    "watermark garbled": (garbling(STATES, "accounts"), {("projection_wrong", "accounts")}),
    "settlement copied": (copy_settlement, {("settlement_added", "ctr_3")}),
}


@pytest.mark.parametrize("case", CASES)
async def test_what_was_done_is_found_and_named(desk: Desk, case: str) -> None:
    tamper, expected = CASES[case]
    await build(desk)
    assert found(await audit(desk)) == set()
    await tamper(desk.deps.store)
    assert expected <= found(await audit(desk))


async def test_the_first_broken_link_is_named(desk: Desk) -> None:
    await build(desk)
    for seq in (5, 3):
        await t.edit(desk.deps.store, BATCHES, batch_key(seq), lambda batch: batch.update(previous_hash="0" * 64))
    audited = await audit(desk)
    assert audited.findings.first_broken_link == 3


async def test_a_deposit_put_in_with_its_row_cannot_be_told_from_one_that_waits_but_is_listed(desk: Desk) -> None:
    await build(desk)
    await t.add(desk.deps.store, a_transaction(), waiting=True)
    audited = await audit(desk)
    assert audited.findings.shown == []
    assert (audited.waiting, audited.first_waiting) == (1, ("txn_forged",))


async def seal_now(desk: Desk) -> Seal:
    audited = await audit(desk)
    assert audited.seal is not None
    return audited.seal


async def test_a_history_rewritten_with_all_its_hashes_is_found_by_the_seal_that_was_known(desk: Desk) -> None:
    await build(desk)
    store, known = desk.deps.store, await seal_now(desk)
    adjustment = (await t.batch(store, LAST)).transactions[1].id
    await t.edit(store, TRANSACTIONS, key_of(adjustment), lambda record: t.with_amount(record, 99))
    batch = await t.batch(store, LAST)
    await t.rechain(store, t.resealed(batch, adjustment, await t.digest_of(store, adjustment)))
    for table in (BALANCES, SHEETS, DAYS, ROLLUPS, STATES):  # the suite makes them anew, from what it finds
        for document in await everything(store, table):
            await t.delete(store, table, document)
    await desk.seal()
    assert found(await audit(desk)) == set()
    assert found(await audit(desk, known)) == {("seal_differs", f"batch {LAST}")}


async def everything(store: Store, table: Table[Any]) -> list[str]:
    """The keys of a projection's documents."""
    if table is STATES:
        return ["accounts", "rollups"]
    generations = [
        STATES.decode(await t.read(store, STATES, name)).record.generation for name in ("accounts", "rollups")
    ]
    return [
        document.key
        for generation in generations
        for document in await t.some(store, table.collection, generation=generation)
    ]


async def test_a_tail_cut_with_its_transactions_is_found_by_the_seal_that_was_known(desk: Desk) -> None:
    await build(desk)
    known = await seal_now(desk)
    store = desk.deps.store
    cut = (await t.batch(store, LAST)).transactions
    await t.cut_tail(store, LAST - 1)
    for each in cut:
        await t.delete(store, TRANSACTIONS, key_of(each.id))
    await t.delete(store, SETTLEMENTS, key_of("ctr_4"))
    assert ("seal_missing", f"batch {LAST}") in found(await audit(desk, known))


async def test_a_batch_that_is_gone_and_whose_seal_was_known_is_named_as_missing(desk: Desk) -> None:
    await build(desk)
    seal = Seal(seq=3, hash=(await t.batch(desk.deps.store, 3)).hash)
    await delete_batch(desk.deps.store)
    assert {("batch_missing", "batch 3"), ("seal_missing", "batch 3")} <= found(await audit(desk, seal))


async def test_a_seal_that_still_stands_is_no_finding(desk: Desk) -> None:
    await build(desk)
    known = await seal_now(desk)
    await deposit(desk)
    await desk.seal()
    assert found(await audit(desk, known)) == set()


async def test_more_findings_than_are_shown_are_counted(desk: Desk) -> None:
    await build(desk)
    for number in range(130):
        await t.add(desk.deps.store, a_transaction(f"txn_{number}"), waiting=False)
    audited = await audit(desk)
    assert (len(audited.findings.shown), audited.findings.total) == (100, 130)


async def test_a_watermark_beyond_the_last_batch_is_found(desk: Desk) -> None:
    await build(desk)
    await t.edit(desk.deps.store, STATES, "rollups", lambda state: state.update(seq=LAST + 4))
    assert ("projection_ahead", "rollups") in found(await audit(desk))


async def test_what_waits_is_no_finding_and_nor_is_a_projection_that_lags(desk: Desk) -> None:
    await build(desk)
    waiting = await adjust(desk)
    head = await read_head(desk.deps.store)
    assert head is not None
    audited = await audit(desk)
    assert audited.findings.shown == []
    assert audited.first_waiting == (waiting,)
