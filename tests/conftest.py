"""Fixtures of all tests, and what the processes of a run share."""

import logging
import os
from collections.abc import Iterator

import pytest
import structlog
from hypothesis import settings
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

from tests.emulators.emulators import (
    SHARED_EMULATORS,
    Emulators,
    OwnEmulators,
    new_project,
    require_jars,
    start_emulators,
)
from tests.emulators.jars import Jars
from tests.examples import CHECK
from tests.groups import GroupScheduling
from tests.shared import RemoteResources, Shared, SharedResources

# `--hypothesis-profile` overrides it.
settings.load_profile(os.environ.get("AEX_HYPOTHESIS_PROFILE", CHECK))

# Its assertions tell what they compared, though they lie in no test module.
pytest.register_assert_rewrite("tests.store.contract")

_SHARED = pytest.StashKey[SharedResources | RemoteResources]()
_FAILED = pytest.StashKey[bool]()


def pytest_configure(config: pytest.Config) -> None:
    """Prepare what the processes share: xdist's workers reach what its controller starts."""
    address = getattr(config, "workerinput", {}).get("shared")
    config.stash[_SHARED] = RemoteResources(*address) if address else SharedResources()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: WorkerController) -> None:
    """Pass the address of the shared resources to a worker."""
    resources = node.config.stash[_SHARED]
    assert isinstance(resources, SharedResources)
    node.workerinput["shared"] = resources.address()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling | None:
    """Use our own groups for `--dist loadgroup`: xdist's own mark has no effect under pytest 9."""
    return GroupScheduling(config, log) if config.getvalue("dist") == "loadgroup" else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put slow tests first: a long one that starts last leaves the other workers idle."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Remember whether the logs of the shared suites are needed."""
    session.config.stash[_FAILED] = exitstatus == pytest.ExitCode.TESTS_FAILED


def pytest_unconfigure(config: pytest.Config) -> None:
    """End what the processes shared."""
    resources = config.stash[_SHARED]
    if isinstance(resources, SharedResources):
        resources.close(keep_logs=config.stash.get(_FAILED, False))


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
    return require_jars(os.environ)


@pytest.fixture(scope="session")
def shared(pytestconfig: pytest.Config) -> Shared:
    """Emulators and suites of the whole run."""
    return pytestconfig.stash[_SHARED]


@pytest.fixture(scope="session")
def emulators(jars: Jars, shared: Shared) -> Emulators:
    """Return the pair that all processes of the run share.

    Use a new project in each test. To pause or stop emulators, start a pair of your own."""
    del jars  # skips or fails where there are none
    pair: Emulators = shared.get(SHARED_EMULATORS)
    return pair


@pytest.fixture(scope="session")
def own_emulators(jars: Jars, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnEmulators]:
    """A pair that no other process uses; resume and restart what you pause and stop.

    `tests/groups.py` gives all files that use it to one worker, so that a run starts one such pair.
    """
    with start_emulators(jars, tmp_path_factory.mktemp("emulators")) as pair:
        yield pair


@pytest.fixture
def project() -> str:
    """Return a project on the emulators that no other test uses."""
    return new_project()
