"""An account's book, line by line: newest first, each line with what the account held after it."""

from collections.abc import AsyncGenerator, AsyncIterable, Iterator, Sequence
from typing import NamedTuple

from aex_models.money import from_micros
from aex_models.settlement import AccountEntry
from aex_settlement.rules.projected import Sheet


class Place(NamedTuple):
    """Where a line stands: the same whichever generation of the book it is read from. Newer is greater."""

    seq: int
    currency: str
    line: int

    @property
    def position(self) -> tuple[int, str]:
        """As a position of a paged listing."""
        return self.seq, f"{self.currency}:{self.line}"

    @classmethod
    def at(cls, position: tuple[str | int | None, str]) -> "Place":
        """The place that was made this position."""
        currency, _, line = position[1].partition(":")
        return cls(int(position[0] or 0), currency, int(line))


def lines_of(sheet: Sheet) -> Iterator[tuple[Place, AccountEntry]]:
    """A sheet's lines from its last to its first; amounts in micros, balances as money."""
    after = sheet.closing
    for number in range(len(sheet.lines) - 1, -1, -1):
        line = sheet.lines[number]
        entry = AccountEntry(
            transaction_id=line.transaction_id,
            contract_id=line.contract_id,
            kind=line.kind,
            account=sheet.account,
            amount=line.amount,
            currency=sheet.currency,
            occurred_at=line.occurred_at,
            reason=line.reason,
            balance=from_micros(after),
        )
        yield Place(sheet.seq, sheet.currency, number), entry
        after -= line.amount


async def each_line(
    sheets: AsyncIterable[Sheet], before: Place | None
) -> AsyncGenerator[tuple[Place, AccountEntry], None]:
    """The lines of sheets that come newest first; those before a place alone, where it is given."""
    together: list[Sheet] = []
    async for sheet in sheets:
        if together and together[0].seq != sheet.seq:
            for each in _lines(together, before):
                yield each
            together = []
        together.append(sheet)
    for each in _lines(together, before):
        yield each


def _lines(together: Sequence[Sheet], before: Place | None) -> Iterator[tuple[Place, AccountEntry]]:
    """The lines of one batch's sheets, which are of as many currencies."""
    for sheet in sorted(together, key=lambda each: each.currency, reverse=True):
        for place, entry in lines_of(sheet):
            if before is None or place < before:
                yield place, entry
