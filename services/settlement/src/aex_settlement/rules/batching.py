"""Size of batches: each must fit into one store transaction in every projection."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from aex_models.settlement import LedgerTransaction
from aex_settlement.rules.account_books import AccountKey
from aex_settlement.rules.journal import SealedTransaction
from aex_settlement.rules.rollups import Group, list_rollup_groups

MAX_WRITES = 480
"""Writes of one store transaction; the store takes 500."""
ACCOUNT_WRITES = 3
"""Documents that a batch writes for each account and currency: balance, page and day."""
STATE_WRITES = 1
MAX_TRANSACTIONS = 200
MAX_PAGE_BYTES = 60_000
"""Bytes of the entries of one account page; larger documents would become blobs (`SPILL_BYTES`)."""
MAX_ENTRIES_BYTES = 4_000_000
"""Bytes of all entries of a batch; a store transaction holds 10 MiB."""
_ENTRY_BYTES = 200
"""Bytes of an entry in JSON without its texts."""
_ESCAPED = re.compile(r'["\\\x00-\x1f]')
_ESCAPE_BYTES = 5
"""Largest number of additional bytes of an escaped character."""


class SealableGroup(NamedTuple):
    """Transactions that were committed together and must be sealed together."""

    key: str
    """Key of the unsealed row of these transactions."""
    sealed: tuple[SealedTransaction, ...]
    transactions: tuple[LedgerTransaction, ...]
    """Transactions in the order of `sealed`."""


@dataclass(slots=True)
class _BatchDraft:
    groups: list[SealableGroup] = field(default_factory=list)
    rollups: set[Group] = field(default_factory=set)
    account_bytes: Counter[AccountKey] = field(default_factory=Counter)
    total_bytes: int = 0
    transactions: int = 0

    def try_add(self, group: SealableGroup) -> bool:
        """Add a group; return False, and do not add it, if it does not fit. The first one always fits."""
        rollups = {rollup for each in group.transactions for rollup in list_rollup_groups(each)} - self.rollups
        added = _bytes_by_account(group.transactions)
        if self.groups and not self._fits(len(group.transactions), rollups, added):
            return False
        self.groups.append(group)
        self.transactions += len(group.transactions)
        self.rollups |= rollups
        self.account_bytes.update(added)
        self.total_bytes += added.total()
        return True

    def _fits(self, count: int, rollups: set[Group], added: Counter[AccountKey]) -> bool:
        accounts = len(self.account_bytes) + sum(account not in self.account_bytes for account in added)
        return (
            self.transactions + count <= MAX_TRANSACTIONS
            and len(self.rollups) + len(rollups) + STATE_WRITES <= MAX_WRITES
            and accounts * ACCOUNT_WRITES + STATE_WRITES <= MAX_WRITES
            and all(self.account_bytes[account] + size <= MAX_PAGE_BYTES for account, size in added.items())
            and self.total_bytes + added.total() <= MAX_ENTRIES_BYTES
        )


def split_batches(groups: Iterable[SealableGroup]) -> Iterator[list[SealableGroup]]:
    """Yield the groups in order, combined to the largest batches that fit."""
    draft = _BatchDraft()
    for group in groups:
        if not draft.try_add(group):
            yield draft.groups
            draft = _BatchDraft()
            draft.try_add(group)
    if draft.groups:
        yield draft.groups


def _bytes_by_account(transactions: Iterable[LedgerTransaction]) -> Counter[AccountKey]:
    sizes = Counter[AccountKey]()
    for transaction in transactions:
        size = max_entry_bytes(transaction)
        for posting in transaction.postings:
            sizes[AccountKey(posting.account, posting.currency)] += size
    return sizes


def max_entry_bytes(transaction: LedgerTransaction) -> int:
    """Return the largest size in bytes that an account entry of this transaction can have."""
    texts = f"{transaction.id}{transaction.contract_id or ''}{transaction.reason}"
    return _ENTRY_BYTES + len(texts.encode()) + _ESCAPE_BYTES * len(_ESCAPED.findall(texts))
