"""What settlement keeps: the only place that knows the collections' names.

Records of money are created and never edited. Projections are made from the journal alone, and can be made anew.
"""

from aex_settlement.repository.journal import BATCHES, HEAD, UNSEALED
from aex_settlement.repository.ledger import TRANSACTIONS
from aex_settlement.repository.projections import BALANCES, DAYS, GENERATIONS, ROLLUPS, SHEETS, STATES
from aex_settlement.repository.settlements import SETTLEMENTS

COLLECTIONS = (
    SETTLEMENTS.collection,
    TRANSACTIONS.collection,
    UNSEALED.collection,
    BATCHES.collection,
    HEAD.collection,
    STATES.collection,
    GENERATIONS.collection,
    ROLLUPS.collection,
    BALANCES.collection,
    SHEETS.collection,
    DAYS.collection,
)
"""All of them, for the indexes that Firestore needs."""
