"""Fixtures of the tests against real suites."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.backend import BACKENDS, EMBEDDED, Backend, requested
from tests.e2e.dying.suite import DyingSuite, dying_suite
from tests.e2e.live import Live, live_suite
from tests.e2e.logged_queries import uncovered
from tests.e2e.parties import Parties, parties_of
from tests.e2e.shared_suite import shared_suite
from tests.shared import Shared

StartSuite = Callable[..., Live]
"""Takes the backend and what `live_suite` takes."""
EMBEDDED_ALONE = pytest.mark.parametrize("live", [EMBEDDED.name], indirect=True)
"""For what is the same whatever records and events are kept in."""


@pytest.fixture(scope="session", params=BACKENDS)
def live(request: pytest.FixtureRequest, shared: Shared) -> Iterator[Live]:
    """A suite that all processes share; its logs may not say that something broke.

    It logs everything: by `event_handled` tests know that an event was handled.
    """
    requested(request)  # skips where there are no emulators
    with shared_suite(shared, request.param) as suite:
        yield suite
        assert suite.breakdowns() == []
        assert uncovered(suite) == []


@pytest.fixture(scope="session", params=BACKENDS)
def replicated(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """Two processes of each service, for all tests that need them; requests go to either."""
    with live_suite(tmp_path_factory.mktemp("replicated") / ".aex", requested(request), replicas=2) as suite:
        yield suite
        assert suite.breakdowns() == []


@pytest.fixture(scope="session", params=BACKENDS)
def dying(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DyingSuite]:
    """A suite whose services kill themselves at the steps that a test orders."""
    with dying_suite(tmp_path_factory.mktemp("dying"), requested(request)) as suite:
        yield suite
        assert suite.live.breakdowns() == []


@pytest.fixture
def start_suite(tmp_path: Path) -> Iterator[StartSuite]:
    """Start the test's own suites on one data directory; fail at the end if a `checked` one has crashed."""
    with ExitStack() as running:
        checked_suites: list[Live] = []

        def start(backend: Backend = EMBEDDED, *, checked: bool = True, **options: Any) -> Live:
            suite = running.enter_context(live_suite(tmp_path / ".aex", backend, **options))
            checked_suites.extend([suite] if checked else [])
            return suite

        yield start
        assert [line for suite in checked_suites for line in suite.breakdowns()] == []


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Backend:
    """Return the backend of the test's own suite; a new project each time."""
    return requested(request)


@pytest.fixture
def parties(live: Live) -> Parties:
    """New principals on the shared suite."""
    return parties_of(live)
