"""A bureau for each test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.services.governance.review.bureau import Bureau, open_bureau


@pytest.fixture
async def bureau(tmp_path: Path) -> AsyncIterator[Bureau]:
    """The service over a store in memory."""
    async with open_bureau(tmp_path / "data") as opened:
        yield opened
