"""Google in miniature, for tokens of service accounts."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.parts.google import Google, google_in


@pytest.fixture
def google(tmp_path: Path) -> Iterator[Google]:
    with google_in(tmp_path) as listening:
        yield listening
