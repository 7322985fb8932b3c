"""Batches are cut so that every projection can apply each in one transaction of the store."""

from hypothesis import given, settings
from hypothesis import strategies as st

from aex_models.canonical import canonical_bytes
from aex_models.settlement import LedgerTransaction, Posting, TransactionKind
from aex_runtime.store.port import SPILL_BYTES
from aex_settlement.rules.account_books import (
    AccountUpdates,
    SealedBatch,
    collect_account_keys,
    collect_sealing_day_keys,
)
from aex_settlement.rules.batching import MAX_TRANSACTIONS, MAX_WRITES, SealableGroup, split_batches
from aex_settlement.rules.journal import JournalHead, SealedTransaction, build_next_batch
from aex_settlement.rules.rollups import list_rollup_groups
from tests.examples import examples
from tests.services.settlement.journal.booking import Settled, transaction_of
from tests.services.settlement.outcomes import NOON


def candidates(transactions: list[LedgerTransaction]) -> list[SealableGroup]:
    return [together(each) for each in transactions]


def together(*transactions: LedgerTransaction) -> SealableGroup:
    sealed = tuple(SealedTransaction(id=each.id, digest="0" * 64) for each in transactions)
    return SealableGroup(transactions[0].id, sealed, transactions)


def members(batch: list[SealableGroup]) -> list[LedgerTransaction]:
    return [each for candidate in batch for each in candidate.transactions]


def settled(contract: int, people: int) -> LedgerTransaction:
    return transaction_of(Settled(contract, agent=f"a{contract % people}", consumer=f"c{contract % people}"), NOON)


def wide(number: int, accounts: int, reason: str) -> LedgerTransaction:
    postings = tuple(
        Posting(account=f"agent:{number}-{each % accounts}", amount=1 - 2 * (each % 2), currency="USD")
        for each in range(100)
    )
    return LedgerTransaction(
        id=f"txn_{number}", kind=TransactionKind.ADJUSTMENT, postings=postings, occurred_at=NOON, reason=reason
    )


LEDGERS = st.lists(
    st.tuples(st.sampled_from(["settled", "wide"]), st.sampled_from([1, 40, 100])), min_size=1, max_size=300
)
REASONS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=300)


def drawn(ledger: list[tuple[str, int]], reason: str) -> list[LedgerTransaction]:
    return [
        settled(number, size) if kind == "settled" else wide(number, size, reason)
        for number, (kind, size) in enumerate(ledger)
    ]


def check_limits(batches: list[list[SealableGroup]]) -> None:
    for batch in batches:
        page = SealedBatch(build_next_batch(JournalHead(seq=0), [], NOON), members(batch))
        assert len(page.transactions) <= MAX_TRANSACTIONS
        assert 2 * len(collect_account_keys(page.transactions)) + len(collect_sealing_day_keys(page)) + 1 <= MAX_WRITES
        assert len({group for each in page.transactions for group in list_rollup_groups(each)}) + 1 <= MAX_WRITES


@settings(max_examples=examples(30), deadline=None)
@given(LEDGERS, REASONS)
def test_every_batch_fits_and_nothing_is_left_out(ledger: list[tuple[str, int]], reason: str) -> None:
    transactions = drawn(ledger, reason)
    batches = list(split_batches(candidates(transactions)))
    assert [each for batch in batches for each in members(batch)] == transactions
    check_limits(batches)


@settings(max_examples=examples(30), deadline=None)
@given(st.integers(1, 250), REASONS)
def test_account_page_of_settlements_stays_below_the_spill_limit(count: int, reason: str) -> None:
    transactions = [transaction_of(Settled(each), NOON, reason) for each in range(count)]
    for batch in split_batches(candidates(transactions)):
        books = AccountUpdates("g", {}, {})
        books.post_batch(SealedBatch(build_next_batch(JournalHead(seq=10**9), [], NOON), members(batch)))
        assert all(len(canonical_bytes(account_page)) <= SPILL_BYTES for account_page in books.pages)


def test_few_parties_fill_a_batch_with_transactions_and_many_with_documents() -> None:
    few = [len(batch) for batch in split_batches(candidates([settled(each, 10) for each in range(450)]))]
    many = [len(batch) for batch in split_batches(candidates([settled(each, 450) for each in range(450)]))]
    assert few == [200, 200, 50]
    assert max(many) < 120
    assert sum(many) == 450


PAIRS = st.lists(st.tuples(st.integers(1, 2), st.sampled_from([1, 40, 300])), min_size=1, max_size=260)


@settings(max_examples=examples(30), deadline=None)
@given(PAIRS)
def test_group_stays_in_one_batch_within_its_limits(rows: list[tuple[int, int]]) -> None:
    waiting = [
        together(*(settled(1_000 * number + each * people, people) for each in range(size)))
        for number, (size, people) in enumerate(rows)
    ]
    batches = list(split_batches(waiting))
    assert [each for batch in batches for each in batch] == waiting
    check_limits(batches)


def test_group_of_two_goes_into_the_next_batch_when_one_fits() -> None:
    waiting = [*candidates([settled(each, 10) for each in range(199)]), together(settled(900, 10), settled(901, 10))]
    assert [len(members(batch)) for batch in split_batches(waiting)] == [199, 2]
