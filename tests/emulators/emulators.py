"""A pair of emulators, as a suite of services needs it."""

import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest

from tests.emulators.emulator import Emulator
from tests.emulators.firestore import FirestoreEmulator
from tests.emulators.jars import EmulatorsMissing, Jars, find_jars
from tests.emulators.pubsub import PubSubEmulator
from tests.shared import SharedResources


@dataclass(frozen=True, slots=True)
class Emulators:
    """Both, running."""

    firestore: Emulator
    pubsub: Emulator

    def environment(self) -> dict[str, str]:
        """The variables by which Google's libraries, and the services, find them."""
        return {"FIRESTORE_EMULATOR_HOST": self.firestore.host, "PUBSUB_EMULATOR_HOST": self.pubsub.host}

    def of_project(self, project: str) -> dict[str, str]:
        """Return the variables that a service needs to use the project on the emulators."""
        urls = {"AEX_STORE_URL": f"firestore://{project}", "AEX_BUS_URL": f"pubsub://{project}"}
        return {**self.environment(), **urls}


@dataclass(frozen=True, slots=True)
class OwnEmulators(Emulators):
    """Both, started by this process."""

    firestore: FirestoreEmulator
    pubsub: PubSubEmulator

    def attachable(self) -> Emulators:
        """Return the pair as other processes of this machine may use it."""
        return Emulators(self.firestore.attachable(), self.pubsub.attachable())


def new_project() -> str:
    """Return the id of a new, empty project."""
    return f"t-{uuid4().hex[:12]}"


def require_jars(environ: Mapping[str, str]) -> Jars:
    """Return the emulators on this machine; without them skip the test, or fail it in CI."""
    try:
        return find_jars(environ)
    except EmulatorsMissing as missing:
        if environ.get("CI") or environ.get("AEX_REQUIRE_EMULATORS"):
            pytest.fail(f"emulators are required here: {missing}", pytrace=False)
        pytest.skip(str(missing))


@contextmanager
def started(jars: Jars, logs: Path) -> Iterator[OwnEmulators]:
    """Both, started at once on free ports and stopped at the end; each writes a log into `logs`.

    Raises `EmulatorFailed`.
    """
    with ExitStack() as running:
        with ThreadPoolExecutor(2) as starters:
            firestore = starters.submit(FirestoreEmulator, jars, logs)
            pubsub = starters.submit(PubSubEmulator, jars, logs)
        for one in (firestore, pubsub):
            if one.exception() is None:
                running.callback(one.result().stop)
        yield OwnEmulators(firestore.result(), pubsub.result())


@contextmanager
def shared(resources: SharedResources) -> Iterator[Emulators]:
    """A pair for all processes of a test run."""
    with started(find_jars(os.environ), resources.folder) as pair:
        yield pair.attachable()


SHARED_EMULATORS = f"{__name__}:{shared.__name__}"
