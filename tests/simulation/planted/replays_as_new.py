"""Verification forgets what it has judged: the same candidate again is a new attempt, and is counted."""

import random

from aex_runtime.store.port import Collection, Document, Store
from aex_verification.repository import CONTRACTS
from aex_verification.rules.records import ContractRow
from tests.simulation.planted.altered_store import AlteredStore, changed
from tests.simulation.planted.plant import Plant


def _unrecognisable(row: ContractRow) -> ContractRow:
    verification = row.state.verification
    judged = {f"{place:064x}": each for place, each in enumerate(verification.judged.values())}
    state = row.state.model_copy(update={"verification": verification.model_copy(update={"judged": judged})})
    return row.model_copy(update={"state": state})


def _forgetting(_: str, store: Store, __: random.Random) -> Store:
    def shown(collection: Collection, document: Document) -> Document | None:
        if collection.name != CONTRACTS.collection.name:
            return document
        return changed(CONTRACTS, document, _unrecognisable)

    return AlteredStore(store, shown=shown)


REPLAYS_AS_NEW = Plant(
    "replays_as_new", "a candidate that was judged before is judged and counted again", store=_forgetting
)
