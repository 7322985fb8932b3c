from datetime import timedelta
from typing import Any

import pytest

from aex_models.settlement import LedgerTransaction, TransactionKind
from aex_runtime.store.port import Store, key_of
from aex_runtime.store.table import Table
from aex_settlement.handlers.journal.rebuild import rebuild_ledger_projections
from aex_settlement.repository.journal import BATCHES, HEAD, HEAD_KEY, UNSEALED, batch_key
from aex_settlement.repository.ledger import SETTLEMENTS, TRANSACTIONS
from aex_settlement.repository.projections import STATES
from aex_settlement.rules.audit_findings import Seal
from aex_settlement.rules.journal import JournalHead, SealedTransaction
from aex_settlement.rules.projections import Projection
from aex_settlement.rules.transactions import make_reversal_transaction_id, make_settlement_transaction_id
from tests.services.settlement.audit import tampering as t
from tests.services.settlement.audit.ledgers import BATCHES as LAST
from tests.services.settlement.audit.ledgers import TRANSACTIONS as TRANSACTION_COUNT
from tests.services.settlement.audit.ledgers import adjust, audit, deposit, found
from tests.services.settlement.audit.tampering import Tamper, copying, deleting, editing, indexing
from tests.services.settlement.journal.booking import Moved, transaction_of
from tests.services.settlement.ledger_kit import LedgerKit
from tests.services.settlement.outcomes import NOON

CTR_3 = make_settlement_transaction_id("ctr_3", 1)
CTR_4 = make_settlement_transaction_id("ctr_4", 1)
CTR_2_BACK = make_reversal_transaction_id("ctr_2", 1)
KEY_3, SETTLEMENT, FORGED = key_of(CTR_3), key_of("ctr_3"), key_of("txn_99")
Found = tuple[str, str]


def a_transaction(number: int = 99) -> LedgerTransaction:
    deposit = Moved(number, TransactionKind.DEPOSIT, "platform:cash", "consumer:acme", 70_000_000)
    return transaction_of(deposit, NOON)


async def alter_amount(store: Store) -> None:
    await t.edit(store, TRANSACTIONS, KEY_3, lambda record: t.with_amount(record, 1_000_000))


async def alter_amount_and_digest(store: Store) -> None:
    await alter_amount(store)
    batch = await t.batch_of(store, CTR_3)
    await t.save(store, BATCHES, batch_key(batch.seq), t.resealed(batch, CTR_3, await t.digest_of(store, CTR_3)))


async def alter_amount_digest_and_hash(store: Store) -> None:
    batch, following = await t.batch(store, 3), await t.batch(store, 4)
    await alter_amount(store)
    await t.rechain(store, t.resealed(batch, CTR_3, await t.digest_of(store, CTR_3)))
    await t.save(store, BATCHES, batch_key(4), following)


async def delete_transaction_and_entry(store: Store) -> None:
    await t.delete(store, TRANSACTIONS, KEY_3)
    batch = await t.batch_of(store, CTR_3)
    await t.save(store, BATCHES, batch_key(batch.seq), t.resealed(batch, CTR_3, None))


async def delete_entry(store: Store) -> None:
    await t.rechain(store, t.resealed(await t.batch_of(store, CTR_3), CTR_3, None))


async def add_a_waiting_settlement(store: Store) -> None:
    posted = TRANSACTIONS.decode(await t.read(store, TRANSACTIONS, KEY_3)).record
    made = make_settlement_transaction_id("ctr_new", 1)
    await t.add(store, posted.model_copy(update={"id": made, "contract_id": "ctr_new"}), waiting=True)


async def add_a_second_settlement(store: Store) -> None:
    posted = TRANSACTIONS.decode(await t.read(store, TRANSACTIONS, KEY_3)).record
    assert posted.booking is not None
    booking = posted.booking.model_copy(update={"revision": 2})
    made = make_settlement_transaction_id("ctr_3", 2)
    await t.add(store, posted.model_copy(update={"id": made, "booking": booking}), waiting=True)


async def seal_twice(store: Store) -> None:
    batch = await t.batch(store, LAST)
    sealed = SealedTransaction(id=CTR_3, digest=await t.digest_of(store, CTR_3))
    await t.rechain(store, batch.model_copy(update={"transactions": (*batch.transactions, sealed)}))


async def set_head_back(store: Store) -> None:
    batch = await t.batch(store, LAST - 1)
    await t.save(store, HEAD, HEAD_KEY, JournalHead(seq=batch.seq, sealed_at=batch.sealed_at, hash=batch.hash))


async def swap_in_a_batch(store: Store) -> None:
    batch = await t.batch(store, 3)
    await t.save(store, BATCHES, batch_key(3), batch.model_copy(update={"transactions": batch.transactions[::-1]}))


async def backdate_a_batch(store: Store) -> None:
    batch, before = await t.batch(store, 4), await t.batch(store, 3)
    await t.rechain(store, batch.model_copy(update={"sealed_at": before.sealed_at - timedelta(days=9)}))


async def alter_a_reversal(store: Store) -> None:
    """Move an amount from the fees to the agent, and make the journal fit."""

    def change(record: Any) -> None:
        record["postings"][1]["amount"] -= 10
        record["postings"][2]["amount"] += 10

    await t.edit(store, TRANSACTIONS, key_of(CTR_2_BACK), change)
    batch = await t.batch_of(store, CTR_2_BACK)
    await t.rechain(store, t.resealed(batch, CTR_2_BACK, await t.digest_of(store, CTR_2_BACK)))


def edit_cost(record: Any) -> None:
    for cost in (record["cost"], record["revisions"][0]["cost"]):
        cost.update(base="8.50", total="9.00")
        cost["breakdown"]["cpc"] = "8.50"


async def hide_reversal(store: Store) -> None:
    def change(record: Any) -> None:
        record["status"] = "settled"
        record["revisions"][0]["reversed_at"] = None

    await t.edit(store, SETTLEMENTS, key_of("ctr_2"), change)
    await indexing(SETTLEMENTS, key_of("ctr_2"), status="settled")(store)


async def add_settlement(store: Store) -> None:
    settlement = SETTLEMENTS.decode(await t.read(store, SETTLEMENTS, SETTLEMENT)).record
    cost = settlement.cost.model_copy(update={"contract_id": "ctr_new"})
    revision = settlement.revisions[0].model_copy(update={"cost": cost})
    forged = settlement.model_copy(update={"contract_id": "ctr_new", "cost": cost, "revisions": (revision,)})
    await t.save(store, SETTLEMENTS, key_of("ctr_new"), forged)


def garbling(table: Table[Any], key: str) -> Tamper:
    def change(record: Any) -> None:
        record.clear()
        record.update(nonsense=1)

    return editing(table, key, change)


def waiting(tamper: Tamper | None = None) -> Tamper:
    """Add a deposit that waits to be sealed, then tamper."""

    async def add(store: Store) -> None:
        await t.add(store, a_transaction(), waiting=True)
        if tamper is not None:
            await tamper(store)

    return add


CASES: dict[str, tuple[Tamper, set[Found]]] = {
    "amount": (alter_amount, {("transaction_altered", CTR_3)}),
    "amount and digest": (alter_amount_and_digest, {("batch_altered", "batch 3")}),
    "amount, digest and hash": (alter_amount_digest_and_hash, {("chain_broken", "batch 4")}),
    "index fields": (indexing(TRANSACTIONS, KEY_3, agent_id="stranger"), {("transaction_altered", CTR_3)}),
    "postings that do not balance": (
        editing(TRANSACTIONS, KEY_3, lambda record: record["postings"][0].update(amount=1)),
        {("transaction_altered", CTR_3), ("transaction_wrong", CTR_3)},
    ),
    "transaction removed": (deleting(TRANSACTIONS, KEY_3), {("transaction_missing", CTR_3)}),
    "transaction and entry removed": (delete_transaction_and_entry, {("batch_altered", "batch 3")}),
    "entry removed": (delete_entry, {("transaction_added", CTR_3)}),
    "batch removed": (deleting(BATCHES, batch_key(3)), {("batch_missing", "batch 3"), ("transaction_added", CTR_3)}),
    "transaction added": (
        lambda store: t.add(store, a_transaction(), waiting=False),
        {("transaction_added", "txn_99")},
    ),
    "transaction twice": (copying(TRANSACTIONS, KEY_3, f"zzzz-{CTR_3}"), {("transaction_added", CTR_3)}),
    "settlement that waits": (
        add_a_waiting_settlement,
        {("transaction_added", make_settlement_transaction_id("ctr_new", 1))},
    ),
    "revision that waits": (
        add_a_second_settlement,
        {("transaction_added", make_settlement_transaction_id("ctr_3", 2))},
    ),
    "what waits altered": (
        waiting(editing(TRANSACTIONS, FORGED, lambda record: t.with_amount(record, 80_000_000))),
        {("waiting_altered", "txn_99")},
    ),
    "what waits removed": (waiting(deleting(TRANSACTIONS, FORGED)), {("waiting_missing", "txn_99")}),
    "what waits hidden": (waiting(indexing(UNSEALED, FORGED, occurred_at=None)), {("transaction_added", "txn_99")}),
    "sealed twice": (seal_twice, {("transaction_repeated", CTR_3)}),
    "last batch removed": (
        deleting(BATCHES, batch_key(LAST)),
        {("batch_missing", f"batch {LAST}"), ("transaction_added", CTR_4)},
    ),
    "tail cut": (lambda store: t.cut_tail(store, LAST - 1), {("transaction_added", CTR_4)}),
    "head set back": (set_head_back, {("batch_added", f"batch {LAST}"), ("transaction_added", CTR_4)}),
    "head far ahead": (
        editing(HEAD, HEAD_KEY, lambda head: head.update(seq=10**12)),
        {("batch_missing", f"batch {LAST + 1}")},
    ),
    "head removed": (deleting(HEAD, HEAD_KEY), {("head_wrong", "the journal's head")}),
    "transactions swapped": (
        lambda store: t.swap(store, CTR_3, CTR_4),
        {("transaction_altered", CTR_3), ("transaction_altered", CTR_4)},
    ),
    "order in a batch": (swap_in_a_batch, {("batch_altered", "batch 3")}),
    "batch hidden": (indexing(BATCHES, batch_key(3), seq=None), {("batch_missing", "batch 3")}),
    "batch backdated": (backdate_a_batch, {("batch_altered", "batch 4")}),
    "reversal": (alter_a_reversal, {("transaction_wrong", CTR_2_BACK)}),
    "settlement": (
        editing(SETTLEMENTS, SETTLEMENT, lambda record: record.update(agent_id="crony")),
        {("settlement_wrong", "ctr_3"), ("settlement_differs", "ctr_3")},
    ),
    "settlement's cost": (editing(SETTLEMENTS, SETTLEMENT, edit_cost), {("settlement_differs", "ctr_3")}),
    "settlement's total": (
        editing(SETTLEMENTS, SETTLEMENT, lambda record: record["cost"].update(total="9.00")),
        {("settlement_wrong", "ctr_3")},
    ),
    "settlement's reason": (
        editing(SETTLEMENTS, key_of("ctr_1"), lambda record: record["revisions"][0].update(reason="as agreed")),
        {("settlement_differs", "ctr_1")},
    ),
    "settlement's reversal": (hide_reversal, {("settlement_differs", "ctr_2")}),
    "settlement removed": (deleting(SETTLEMENTS, SETTLEMENT), {("settlement_missing", "ctr_3")}),
    "settlement hidden": (indexing(SETTLEMENTS, SETTLEMENT, settled_at=None), {("settlement_wrong", "ctr_3")}),
    "settlement listed as another's": (
        indexing(SETTLEMENTS, SETTLEMENT, agent_id="crony"),
        {("settlement_wrong", "ctr_3")},
    ),
    "settlement added": (add_settlement, {("settlement_differs", "ctr_new")}),
    "head garbled": (garbling(HEAD, HEAD_KEY), {("head_wrong", "the journal's head")}),
    "batch garbled": (garbling(BATCHES, batch_key(3)), {("batch_missing", "batch 3")}),
    "transaction garbled": (
        garbling(TRANSACTIONS, KEY_3),
        {("transaction_altered", CTR_3), ("transaction_wrong", CTR_3), ("settlement_differs", "ctr_3")},
    ),
    "what waits garbled": (waiting(garbling(UNSEALED, FORGED)), {("transaction_added", "txn_99")}),
    "settlement garbled": (garbling(SETTLEMENTS, SETTLEMENT), {("settlement_wrong", "ctr_3")}),
    "watermark garbled": (garbling(STATES, "accounts"), {("projection_wrong", "accounts")}),
    "settlement copied": (copying(SETTLEMENTS, SETTLEMENT, "zzzz-ctr_3"), {("settlement_added", "ctr_3")}),
}


@pytest.mark.parametrize("case", CASES)
async def test_tampering_is_found_and_named(ledger: LedgerKit, case: str) -> None:
    tamper, expected = CASES[case]
    await tamper(ledger.deps.store)
    assert expected <= found(await audit(ledger))


async def test_missing_index_field_without_a_value_is_found(ledger: LedgerKit) -> None:
    deposited = (await t.batch(ledger.deps.store, 2)).transactions[0].id
    document = await t.read(ledger.deps.store, TRANSACTIONS, key_of(deposited))
    fields = {name: value for name, value in document.fields.items() if name != "agent_id"}
    await t.put(ledger.deps.store, TRANSACTIONS, document.key, document.body, fields)
    assert found(await audit(ledger)) == {("transaction_altered", deposited)}


async def test_the_first_broken_link_is_named(ledger: LedgerKit) -> None:
    for seq in (5, 3):
        await t.edit(ledger.deps.store, BATCHES, batch_key(seq), lambda batch: batch.update(previous_hash="0" * 64))
    report = await audit(ledger)
    assert report.findings.first_broken_link == 3


async def seal_now(ledger: LedgerKit) -> Seal:
    report = await audit(ledger)
    assert report.seal is not None
    return report.seal


async def test_a_history_rewritten_with_all_its_hashes_is_found_by_the_seal_that_was_known(ledger: LedgerKit) -> None:
    store, known = ledger.deps.store, await seal_now(ledger)
    adjustment = (await t.batch(store, LAST)).transactions[1].id
    await t.edit(store, TRANSACTIONS, key_of(adjustment), lambda record: t.with_amount(record, 99))
    batch = await t.batch(store, LAST)
    await t.rechain(store, t.resealed(batch, adjustment, await t.digest_of(store, adjustment)))
    await rebuild_ledger_projections(
        ledger.deps, list(Projection), lambda _done, _total: None
    )  # from the rewritten history
    assert found(await audit(ledger)) == set()
    assert found(await audit(ledger, known)) == {("seal_differs", f"batch {LAST}")}


async def test_a_tail_cut_with_its_transactions_is_found_by_the_seal_that_was_known(ledger: LedgerKit) -> None:
    known = await seal_now(ledger)
    store = ledger.deps.store
    cut = (await t.batch(store, LAST)).transactions
    await t.cut_tail(store, LAST - 1)
    for each in cut:
        await t.delete(store, TRANSACTIONS, key_of(each.id))
    await t.delete(store, SETTLEMENTS, key_of("ctr_4"))
    assert ("seal_missing", f"batch {LAST}") in found(await audit(ledger, known))


async def test_missing_batch_with_a_known_seal_is_named(ledger: LedgerKit) -> None:
    seal = Seal(seq=3, hash=(await t.batch(ledger.deps.store, 3)).hash)
    await t.delete(ledger.deps.store, BATCHES, batch_key(3))
    assert {("batch_missing", "batch 3"), ("seal_missing", "batch 3")} <= found(await audit(ledger, seal))


async def test_a_seal_that_still_stands_is_no_finding(ledger: LedgerKit) -> None:
    known = await seal_now(ledger)
    await deposit(ledger)
    await ledger.seal()
    assert found(await audit(ledger, known)) == set()


async def test_unlisted_findings_are_counted(ledger: LedgerKit) -> None:
    for number in range(130):
        await t.add(ledger.deps.store, a_transaction(1_000 + number), waiting=False)
    report = await audit(ledger)
    assert (len(report.findings.listed), report.findings.total) == (100, 130)


async def test_a_watermark_beyond_the_last_batch_is_found(ledger: LedgerKit) -> None:
    await t.edit(ledger.deps.store, STATES, "rollups", lambda state: state.update(seq=LAST + 4))
    assert ("projection_ahead", "rollups") in found(await audit(ledger))


async def test_what_waits_is_no_finding(ledger: LedgerKit) -> None:
    waiting = await adjust(ledger)
    report = await audit(ledger)
    assert (report.findings.listed, report.first_waiting) == ([], (waiting,))


async def test_unchanged_ledger_has_no_findings(ledger: LedgerKit) -> None:
    report = await audit(ledger)
    assert report.findings.listed == []
    assert (report.batches, report.transactions, report.settlements) == (LAST, TRANSACTION_COUNT, 4)
    assert report.projections == {"accounts": LAST, "rollups": LAST}
    assert report.seal is not None
    assert report.seal.seq == LAST
