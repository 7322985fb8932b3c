from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.libs.runtime.pages.site import Visited, visited


@pytest.fixture
async def notes(tmp_path: Path) -> AsyncIterator[Visited]:
    """The sample site, fresh for each test."""
    async with visited(tmp_path / "data") as site:
        yield site
