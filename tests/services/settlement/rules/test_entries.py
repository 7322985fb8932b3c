"""An account's book is read from its end, line by line, each with what the account held after it."""

from collections.abc import AsyncIterator, Sequence

from hypothesis import given
from hypothesis import strategies as st

from aex_models.money import from_micros
from aex_models.settlement import AccountEntry, TransactionKind
from aex_settlement.rules.entries import Place, each_line
from aex_settlement.rules.projected import Sheet, SheetLine
from tests.services.settlement.outcomes import NOON

amounts = st.lists(st.integers(-(10**9), 10**9), min_size=1, max_size=4)
books = st.lists(st.dictionaries(st.sampled_from(["EUR", "USD", "XAU"]), amounts, min_size=1), max_size=5)
"""What each batch posts in each currency."""


def sheets_of(book: Sequence[dict[str, list[int]]]) -> list[Sheet]:
    """The sheets of a book, newest first."""
    held: dict[str, int] = {}
    sheets = []
    for seq, batch in enumerate(book, 1):
        for currency, posted in batch.items():
            opening = held.get(currency, 0)
            held[currency] = opening + sum(posted)
            lines = tuple(
                SheetLine(
                    transaction_id=f"txn_{seq}_{number}", kind=TransactionKind.DEPOSIT, amount=amount, occurred_at=NOON
                )
                for number, amount in enumerate(posted)
            )
            sheets.append(
                Sheet(
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
    return sorted(sheets, key=lambda sheet: -sheet.seq)


async def read(sheets: Sequence[Sheet], before: Place | None = None) -> list[tuple[Place, AccountEntry]]:
    async def each() -> AsyncIterator[Sheet]:
        for sheet in sheets:
            yield sheet

    return [line async for line in each_line(each(), before)]


@given(books)
async def test_each_line_shows_what_was_held_after_it(book: list[dict[str, list[int]]]) -> None:
    held: dict[str, int] = {}
    expected = []
    for batch in book:
        for currency in sorted(batch):
            for amount in batch[currency]:
                held[currency] = held.get(currency, 0) + amount
                expected.append((currency, amount, from_micros(held[currency])))
    found = await read(sheets_of(book))
    assert [(entry.currency, entry.amount, entry.balance) for _, entry in found] == expected[::-1]


@given(books, st.data())
async def test_reading_goes_on_from_any_line(book: list[dict[str, list[int]]], data: st.DataObject) -> None:
    sheets = sheets_of(book)
    whole = await read(sheets)
    assert [place for place, _ in whole] == sorted((place for place, _ in whole), reverse=True)
    if whole:
        cut = data.draw(st.integers(0, len(whole) - 1))
        place = Place.at(whole[cut][0].position)
        shuffled = sorted(sheets, key=lambda sheet: (-sheet.seq, sheet.closing))
        assert await read([each for each in shuffled if each.seq <= place.seq], place) == whole[cut + 1 :]
