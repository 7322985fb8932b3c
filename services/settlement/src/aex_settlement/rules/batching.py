"""How much goes into one batch: whatever it is applied to, that must fit into one transaction of the store. Pure."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from aex_models.settlement import LedgerTransaction
from aex_settlement.rules.account_books import Place
from aex_settlement.rules.journal import SealedTransaction
from aex_settlement.rules.rollups import Group, groups_of

MAX_WRITES = 480
"""Of one application; the store takes 500 writes in a transaction."""
OF_A_PLACE = 3
"""Documents that a batch writes for each account and currency: balance, sheet and day."""
OF_THE_STATE = 1
MAX_TRANSACTIONS = 200
MAX_SHEET_BYTES = 60_000
"""Of the lines of one sheet: larger documents would become blobs (`SPILL_BYTES`)."""
MAX_SHEETS_BYTES = 4_000_000
"""Of all the lines of a batch: a transaction of the store holds 10 MiB."""
_LINE_BYTES = 200
"""What a line takes in JSON beside its texts."""
_ESCAPED = re.compile(r'["\\\x00-\x1f]')
_ESCAPE_BYTES = 5
"""At most so many more does an escaped character take."""


class Candidate(NamedTuple):
    """What was committed as one and can be sealed, and the key of the row that says that it waits. Never divided."""

    key: str
    sealed: tuple[SealedTransaction, ...]
    transactions: tuple[LedgerTransaction, ...]
    """Those of `sealed`."""


@dataclass(slots=True)
class _Draft:
    """A batch while it is filled."""

    candidates: list[Candidate] = field(default_factory=list)
    groups: set[Group] = field(default_factory=set)
    lines: dict[Place, int] = field(default_factory=dict)
    """Bytes for each place."""
    bytes: int = 0
    transactions: int = 0

    def take(self, candidate: Candidate) -> bool:
        """Put it in; False where it does not fit any more. The first always fits: it has nowhere else to go."""
        groups = {group for each in candidate.transactions for group in groups_of(each)} - self.groups
        added = _lines(candidate.transactions)
        if self.candidates and not self._fits(len(candidate.transactions), groups, added):
            return False
        self.candidates.append(candidate)
        self.transactions += len(candidate.transactions)
        self.groups |= groups
        for place, size in added.items():
            self.lines[place] = self.lines.get(place, 0) + size
            self.bytes += size
        return True

    def _fits(self, count: int, groups: set[Group], added: dict[Place, int]) -> bool:
        places = len(self.lines) + sum(place not in self.lines for place in added)
        return (
            self.transactions + count <= MAX_TRANSACTIONS
            and len(self.groups) + len(groups) + OF_THE_STATE <= MAX_WRITES
            and places * OF_A_PLACE + OF_THE_STATE <= MAX_WRITES
            and all(self.lines.get(place, 0) + size <= MAX_SHEET_BYTES for place, size in added.items())
            and self.bytes + sum(added.values()) <= MAX_SHEETS_BYTES
        )


def cut(candidates: Iterable[Candidate]) -> Iterator[list[Candidate]]:
    """The candidates in batches that fit, in their order."""
    draft = _Draft()
    for candidate in candidates:
        if not draft.take(candidate):
            yield draft.candidates
            draft = _Draft()
            draft.take(candidate)
    if draft.candidates:
        yield draft.candidates


def _lines(transactions: Iterable[LedgerTransaction]) -> dict[Place, int]:
    """The bytes that they take on the sheet of each place where they post."""
    lines: dict[Place, int] = {}
    for transaction in transactions:
        one = line_bytes(transaction)
        for posting in transaction.postings:
            place = Place(posting.account, posting.currency)
            lines[place] = lines.get(place, 0) + one
    return lines


def line_bytes(transaction: LedgerTransaction) -> int:
    """At most so many bytes does a line of this transaction take on a sheet."""
    texts = f"{transaction.id}{transaction.contract_id or ''}{transaction.reason}"
    return _LINE_BYTES + len(texts.encode()) + _ESCAPE_BYTES * len(_ESCAPED.findall(texts))
