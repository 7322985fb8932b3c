"""An empty ledger in memory, and one of six batches, which is built once and copied."""

from copy import deepcopy
from dataclasses import replace

import pytest

from aex_runtime.store.memory import MemoryStore
from tests.services.settlement.audit.ledgers import build
from tests.services.settlement.ledger_kit import LedgerKit, ledger_kit_over
from tests.services.settlement.outcomes import NOON

_BUILT: list[tuple[MemoryStore, LedgerKit]] = []


@pytest.fixture
def empty() -> LedgerKit:
    return ledger_kit_over(MemoryStore(), NOON)


@pytest.fixture
async def ledger() -> LedgerKit:
    if not _BUILT:
        store = MemoryStore()
        _BUILT.append((store, ledger_kit_over(store, NOON)))
        await build(_BUILT[0][1])
    (original, built), store = _BUILT[0], MemoryStore()
    store._documents, store._version = dict(original._documents), original._version
    copied = ledger_kit_over(store, built.clock.now())
    return replace(copied, deps=replace(copied.deps, ids=deepcopy(built.deps.ids)))
