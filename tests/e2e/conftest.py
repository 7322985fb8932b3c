"""The suites that the tests share where nothing is killed: one on each backend."""

from collections.abc import Iterator

import pytest

from tests.e2e.asking.store import ASKING, noting_in, uncovered
from tests.e2e.backend import BACKENDS, EMBEDDED, EMULATED, Backend, requested
from tests.e2e.live import Live, live_suite
from tests.e2e.parties import Parties, parties_of

EMBEDDED_ALONE = pytest.mark.parametrize("live", [EMBEDDED.name], indirect=True)
"""For what is the same whatever records and events are kept in."""


@pytest.fixture(scope="session", params=BACKENDS)
def live(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A suite for the session; at its end nothing in its logs may say that something broke.

    It logs everything: `event_handled` is how tests know that an event was dealt with. On the emulators, which need no
    indexes, it notes what it is asked, and all of that must have one.
    """
    place, backend = tmp_path_factory.mktemp("e2e") / ".aex", requested(request)
    noting = backend.name == EMULATED
    environment = {"AEX_LOG_LEVEL": "debug", **(noting_in(place) if noting else {})}
    with live_suite(place, backend, environment=environment, replaced=ASKING if noting else None) as started:
        yield started
        assert started.breakdowns() == []
        assert uncovered(started) == []


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Backend:
    """What a suite of the test's own runs on; a new project each time."""
    return requested(request)


@pytest.fixture
def parties(live: Live) -> Parties:
    """New principals on the shared suite."""
    return parties_of(live)
