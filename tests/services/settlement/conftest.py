"""A desk on each embedded store."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.services.settlement.counter import Counter, open_counter
from tests.services.settlement.desk import Desk, desk_over, open_store
from tests.services.settlement.outcomes import NOON


@pytest.fixture(params=["memory", "sqlite"])
async def desk(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Desk]:
    async with open_store(request.param, tmp_path) as store:
        yield desk_over(store, NOON)


@pytest.fixture
async def counter(desk: Desk, tmp_path: Path) -> AsyncIterator[Counter]:
    async with open_counter(desk, tmp_path / "data") as opened:
        yield opened
