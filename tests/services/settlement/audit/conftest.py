"""An empty ledger in memory, and one of six batches, which is built once and copied."""

import pytest

from aex_runtime.store.memory import MemoryStore
from tests.services.settlement.audit.ledgers import build, copy_of
from tests.services.settlement.ledger_kit import LedgerKit, ledger_kit_over
from tests.services.settlement.outcomes import NOON


@pytest.fixture
def empty() -> LedgerKit:
    return ledger_kit_over(MemoryStore(), NOON)


@pytest.fixture
async def ledger() -> LedgerKit:
    return await copy_of(build)
