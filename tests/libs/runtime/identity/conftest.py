"""Google in miniature, for tokens of service accounts."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.parts.google import Google, run_google


@pytest.fixture
def google(tmp_path: Path) -> Iterator[Google]:
    with run_google(tmp_path) as listening:
        yield listening
