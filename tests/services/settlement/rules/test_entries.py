"""An account's book is read from its end, line by line, each with what the account held after it."""

from collections.abc import AsyncIterator, Sequence

from hypothesis import given
from hypothesis import strategies as st

from aex_models.money import from_micros
from aex_models.settlement import AccountEntry, TransactionKind
from aex_settlement.rules.account_books import EntryPosition, iterate_entries_newest_first
from aex_settlement.rules.projections import AccountPage, PageEntry
from tests.services.settlement.outcomes import NOON

amounts = st.lists(st.integers(-(10**9), 10**9), min_size=1, max_size=4)
books = st.lists(st.dictionaries(st.sampled_from(["EUR", "USD", "XAU"]), amounts, min_size=1), max_size=5)
"""Postings of each batch, by currency."""


def pages_of(book: Sequence[dict[str, list[int]]]) -> list[AccountPage]:
    held: dict[str, int] = {}
    pages = []
    for seq, batch in enumerate(book, 1):
        for currency, posted in batch.items():
            opening = held.get(currency, 0)
            held[currency] = opening + sum(posted)
            lines = tuple(
                PageEntry(
                    transaction_id=f"txn_{seq}_{number}", kind=TransactionKind.DEPOSIT, amount=amount, occurred_at=NOON
                )
                for number, amount in enumerate(posted)
            )
            pages.append(
                AccountPage(
                    generation="g",
                    account="platform:cash",
                    currency=currency,
                    seq=seq,
                    sealed_at=NOON,
                    opening=opening,
                    closing=held[currency],
                    lines=lines,
                )
            )
    return sorted(pages, key=lambda page: -page.seq)


async def read(
    pages: Sequence[AccountPage], before: EntryPosition | None = None
) -> list[tuple[EntryPosition, AccountEntry]]:
    async def each() -> AsyncIterator[AccountPage]:
        for page in pages:
            yield page

    return [line async for line in iterate_entries_newest_first(each(), before)]


@given(books)
async def test_each_line_shows_what_was_held_after_it(book: list[dict[str, list[int]]]) -> None:
    held: dict[str, int] = {}
    expected = []
    for batch in book:
        for currency in sorted(batch):
            for amount in batch[currency]:
                held[currency] = held.get(currency, 0) + amount
                expected.append((currency, amount, from_micros(held[currency])))
    found = await read(pages_of(book))
    assert [(entry.currency, entry.amount, entry.balance) for _, entry in found] == expected[::-1]


@given(books, st.data())
async def test_reading_goes_on_from_any_line(book: list[dict[str, list[int]]], data: st.DataObject) -> None:
    pages = pages_of(book)
    complete = await read(pages)
    assert [position for position, _ in complete] == sorted((position for position, _ in complete), reverse=True)
    if complete:
        cut = data.draw(st.integers(0, len(complete) - 1))
        position = EntryPosition.from_cursor(complete[cut][0].cursor)
        shuffled = sorted(pages, key=lambda page: (-page.seq, page.closing))
        assert await read([each for each in shuffled if each.seq <= position.seq], position) == complete[cut + 1 :]
