"""Google in miniature, for tokens of service accounts."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.parts.google import GoogleStub, run_google_stub


@pytest.fixture
def google(tmp_path: Path) -> Iterator[GoogleStub]:
    with run_google_stub(tmp_path) as listening:
        yield listening
