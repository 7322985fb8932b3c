"""A ledger on every store: memory, SQLite, and Firestore where its emulator is."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from aex_runtime.store.firestore import FirestoreStore
from tests.emulators.emulators import Emulators, new_project
from tests.services.settlement.ledger_kit import LedgerKit, ledger_kit_over, open_store
from tests.services.settlement.outcomes import NOON


@pytest.fixture(params=["memory", "sqlite", pytest.param("firestore", marks=pytest.mark.emulator)])
async def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[LedgerKit]:
    if request.param != "firestore":
        async with open_store(request.param, tmp_path) as store:
            yield ledger_kit_over(store, NOON)
        return
    emulators: Emulators = request.getfixturevalue("emulators")
    firestore = FirestoreStore(new_project(), emulator=emulators.firestore.host)
    try:
        yield ledger_kit_over(firestore, NOON)
    finally:
        await firestore.close()
