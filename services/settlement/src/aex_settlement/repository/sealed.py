"""Reading transactions by their keys and holding them against their digests."""

from collections.abc import Sequence

from aex_models.settlement import LedgerTransaction
from aex_runtime.store.keys import key_of
from aex_runtime.store.port import Document, Store, StoreError, StoreUnavailable
from aex_runtime.store.table import UNREADABLE
from aex_settlement.repository.ledger import TRANSACTIONS, transaction_digest
from aex_settlement.rules.journal import SealedTransaction


def as_sealed(sealed: SealedTransaction, document: Document | None) -> LedgerTransaction | str:
    """The transaction of a document; or, in a few words, why it is not the one that was committed and sealed."""
    if document is None:
        return "it is gone"
    if transaction_digest(document) != sealed.digest:
        return "it was altered"
    try:
        transaction = TRANSACTIONS.decode(document).record
    except UNREADABLE:
        return "it cannot be read"
    return transaction if transaction.id == sealed.id else "it has another id"


async def transaction_documents(store: Store, ids: Sequence[str]) -> list[Document | None]:
    """The documents of these transactions, in their order; None also where one's body is lost.

    Raises `StoreUnavailable`.
    """
    keys = [key_of(each) for each in ids]
    try:
        return await store.get_many(TRANSACTIONS.collection, keys)
    except StoreUnavailable:
        raise
    except StoreError:  # one of them: find it, so that the others are read
        return [await _document(store, key) for key in keys]


async def _document(store: Store, key: str) -> Document | None:
    try:
        return await store.get(TRANSACTIONS.collection, key)
    except StoreUnavailable:
        raise
    except StoreError:
        return None
