"""The suite that the tests share where nothing is killed."""

from collections.abc import Iterator

import pytest

from tests.e2e.live import Live, live_suite
from tests.e2e.parties import Parties, parties_of


@pytest.fixture(scope="session")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A suite for the session; at its end nothing in its logs may say that something broke."""
    with live_suite(tmp_path_factory.mktemp("e2e") / ".aex") as started:
        yield started
        assert started.breakdowns() == []


@pytest.fixture
def parties(live: Live) -> Parties:
    """New principals on the shared suite."""
    return parties_of(live)
