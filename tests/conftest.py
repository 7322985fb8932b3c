"""What all tests share: the emulators, one pair for each pytest process, started when a test first asks for them."""

import logging
import os
from collections.abc import Iterator

import pytest
import structlog
from hypothesis import settings

from tests.emulators.emulators import Emulators, new_project, started
from tests.emulators.jars import EmulatorsMissing, Jars, find_jars

# Machines are noisy, and nothing here is a timed test.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

# Its assertions tell what they compared, though they lie in no test module.
pytest.register_assert_rewrite("tests.store.contract")


@pytest.fixture(autouse=True)
def _logging_as_before() -> Iterator[None]:
    """Commands set up logging for their process; a test that runs one in its own process gives that back."""
    root = logging.getLogger()
    before, handlers, level = structlog.get_config(), root.handlers[:], root.level
    yield
    structlog.configure(**before)
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.fixture(scope="session")
def jars() -> Jars:
    """The emulators on this machine. Without them a test is skipped, but fails where they are required: in CI."""
    try:
        return find_jars(os.environ)
    except EmulatorsMissing as missing:
        if os.environ.get("CI") or os.environ.get("AEX_REQUIRE_EMULATORS"):
            pytest.fail(f"emulators are required here: {missing}", pytrace=False)
        pytest.skip(str(missing))


@pytest.fixture(scope="session")
def emulators(jars: Jars, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulators]:
    """Both, shared: use a new project in each test, resume what you pause. To stop them, start a pair of your own."""
    with started(jars, tmp_path_factory.mktemp("emulators")) as pair:
        yield pair


@pytest.fixture
def project() -> str:
    """One on the emulators that no other test uses."""
    return new_project()
