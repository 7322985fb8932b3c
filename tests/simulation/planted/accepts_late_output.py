"""Verification believes each deadline to be ten days later than it is."""

import random
from datetime import timedelta

from aex_models.frozen import Instant
from aex_runtime.store.port import Collection, Document, Store
from aex_verification.repository import CONTRACTS
from aex_verification.rules.records import ContractRow
from tests.simulation.planted.altered_store import AlteredStore, changed
from tests.simulation.planted.plant import Plant

_LATE = timedelta(days=10)


def _moved(row: ContractRow, by: timedelta) -> ContractRow:
    deadline: Instant = row.state.deadline + by
    return row.model_copy(update={"state": row.state.model_copy(update={"deadline": deadline})})


def _lenient(_: str, store: Store, __: random.Random) -> Store:
    seen: set[str] = set()

    def shown(collection: Collection, document: Document) -> Document | None:
        if collection.name != CONTRACTS.collection.name:
            return document
        seen.add(document.key)
        return changed(CONTRACTS, document, lambda row: _moved(row, _LATE))

    def kept(collection: Collection, key: str, body: bytes) -> bytes | None:
        if collection.name != CONTRACTS.collection.name or key not in seen:
            return body
        return CONTRACTS.encode(_moved(CONTRACTS.model.model_validate_json(body), -_LATE))[0]

    return AlteredStore(store, shown=shown, kept=kept)


ACCEPTS_LATE_OUTPUT = Plant("accepts_late_output", "a candidate is taken in after the deadline", store=_lenient)
