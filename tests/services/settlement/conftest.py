"""A ledger on each embedded store."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.services.settlement.counter import Counter, open_counter
from tests.services.settlement.ledger_kit import LedgerKit, ledger_kit_over, open_store
from tests.services.settlement.outcomes import NOON


@pytest.fixture
async def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[LedgerKit]:
    """Open a ledger in memory; tests for both stores parametrize this fixture with `on_both_stores`."""
    async with open_store(getattr(request, "param", "memory"), tmp_path) as store:
        yield ledger_kit_over(store, NOON)


@pytest.fixture
async def counter(ledger: LedgerKit, tmp_path: Path) -> AsyncIterator[Counter]:
    async with open_counter(ledger, tmp_path / "data") as opened:
        yield opened
