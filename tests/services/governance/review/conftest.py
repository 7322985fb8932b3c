"""A client for each test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.services.governance.client import Client, open_client


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    async with open_client(tmp_path / "data") as opened:
        yield opened
