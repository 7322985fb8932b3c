"""Database tables of settlement with their keys and indexes.

Transactions and batches are created once and never edited. Projections can be rebuilt from the journal.
"""

from typing import Any

from aex_runtime.store.table import Table
from aex_settlement.repository.journal import BATCHES, HEAD, UNSEALED
from aex_settlement.repository.ledger import SETTLEMENTS, TRANSACTIONS
from aex_settlement.repository.projections import ACCOUNT_PAGES, BALANCES, DAYS, GENERATIONS, ROLLUPS, STATES

_JOURNAL: tuple[Table[Any], ...] = (SETTLEMENTS, TRANSACTIONS, UNSEALED, BATCHES, HEAD)
_PROJECTED: tuple[Table[Any], ...] = (STATES, GENERATIONS, ROLLUPS, BALANCES, ACCOUNT_PAGES, DAYS)
COLLECTIONS = tuple(table.collection for table in (*_JOURNAL, *_PROJECTED))
"""Every collection of the service, from which Firestore's index file is generated."""
