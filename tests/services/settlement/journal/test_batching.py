"""Batches are cut so that every projection can apply each in one transaction of the store."""

from hypothesis import given, settings
from hypothesis import strategies as st

from aex_models.canonical import canonical_bytes
from aex_models.settlement import LedgerTransaction, Posting, TransactionKind
from aex_runtime.store.port import SPILL_BYTES
from aex_settlement.rules.account_books import Books, Page, day_places_of, places_of
from aex_settlement.rules.batching import MAX_TRANSACTIONS, MAX_WRITES, Candidate, cut
from aex_settlement.rules.journal import JournalHead, SealedTransaction, seal
from aex_settlement.rules.rollups import groups_of
from tests.services.settlement.journal.booking import Settled, transaction_of
from tests.services.settlement.outcomes import NOON


def candidates(transactions: list[LedgerTransaction]) -> list[Candidate]:
    return [Candidate(each.id, SealedTransaction(id=each.id, digest="0" * 64), each) for each in transactions]


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


@settings(max_examples=30, deadline=None)
@given(LEDGERS, REASONS)
def test_every_batch_fits_and_nothing_is_left_out(ledger: list[tuple[str, int]], reason: str) -> None:
    transactions = drawn(ledger, reason)
    batches = list(cut(candidates(transactions)))
    assert [each.transaction for batch in batches for each in batch] == transactions
    for batch in batches:
        page = Page(seal(JournalHead(seq=0), [], NOON), [each.transaction for each in batch])
        places = places_of(page.transactions)
        assert len(batch) <= MAX_TRANSACTIONS
        assert 2 * len(places) + len(day_places_of(page)) + 1 <= MAX_WRITES
        assert len({group for each in page.transactions for group in groups_of(each)}) + 1 <= MAX_WRITES


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 250), REASONS)
def test_no_sheet_of_settlements_grows_into_a_blob(count: int, reason: str) -> None:
    transactions = [transaction_of(Settled(each), NOON, reason) for each in range(count)]
    for batch in cut(candidates(transactions)):
        books = Books("g", {}, {})
        books.post(Page(seal(JournalHead(seq=10**9), [], NOON), [each.transaction for each in batch]))
        assert all(len(canonical_bytes(sheet)) <= SPILL_BYTES for sheet in books.sheets)


def test_few_parties_fill_a_batch_with_transactions_and_many_with_documents() -> None:
    few = [len(batch) for batch in cut(candidates([settled(each, 10) for each in range(450)]))]
    many = [len(batch) for batch in cut(candidates([settled(each, 450) for each in range(450)]))]
    assert few == [200, 200, 50]
    assert max(many) < 120
    assert sum(many) == 450
