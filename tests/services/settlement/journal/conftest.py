"""A ledger on every store, or on those that a module names in `STORES` where others cannot differ."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from aex_runtime.store.firestore import FirestoreStore
from tests.emulators.emulators import Emulators, new_project
from tests.services.settlement.ledger_kit import LedgerKit, in_memory, ledger_kit_over, open_store
from tests.services.settlement.outcomes import NOON

EVERY_STORE = ["memory", "sqlite", pytest.param("firestore", marks=pytest.mark.emulator)]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "ledger" in metafunc.fixturenames and in_memory.mark not in metafunc.definition.iter_markers():
        metafunc.parametrize("ledger", getattr(metafunc.module, "STORES", EVERY_STORE), indirect=True)


@pytest.fixture
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
