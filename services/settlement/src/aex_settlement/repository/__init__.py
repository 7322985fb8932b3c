"""Settlement's collections, keys and indexes.

Records of money are created and never edited. Projections hold nothing that the journal does not.
"""

from typing import Any

from aex_runtime.store.table import Table
from aex_settlement.repository.journal import BATCHES, HEAD, UNSEALED
from aex_settlement.repository.ledger import SETTLEMENTS, TRANSACTIONS
from aex_settlement.repository.projections import ACCOUNT_PAGES, BALANCES, DAYS, GENERATIONS, ROLLUPS, STATES

_JOURNAL: tuple[Table[Any], ...] = (SETTLEMENTS, TRANSACTIONS, UNSEALED, BATCHES, HEAD)
_PROJECTED: tuple[Table[Any], ...] = (STATES, GENERATIONS, ROLLUPS, BALANCES, ACCOUNT_PAGES, DAYS)
COLLECTIONS = tuple(table.collection for table in (*_JOURNAL, *_PROJECTED))
"""Every collection, for the indexes that Firestore needs."""
