"""The pair of emulators, Firestore and Pub/Sub, that a suite of services needs."""

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
    """A running pair of emulators."""

    firestore: Emulator
    pubsub: Emulator

    def environment(self) -> dict[str, str]:
        """Return the variables by which Google's libraries and the services find the emulators."""
        return {"FIRESTORE_EMULATOR_HOST": self.firestore.host, "PUBSUB_EMULATOR_HOST": self.pubsub.host}

    def project_environment(self, project: str) -> dict[str, str]:
        """Return the variables that a service needs to use the project on the emulators."""
        urls = {"AEX_STORE_URL": f"firestore://{project}", "AEX_BUS_URL": f"pubsub://{project}"}
        return {**self.environment(), **urls}


@dataclass(frozen=True, slots=True)
class OwnEmulators(Emulators):
    """A pair of emulators that this process started."""

    firestore: FirestoreEmulator
    pubsub: PubSubEmulator

    def to_attachable(self) -> Emulators:
        """Return the pair without control of its processes, for other processes of this machine."""
        return Emulators(self.firestore.to_attachable(), self.pubsub.to_attachable())


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
def start_emulators(jars: Jars, logs: Path) -> Iterator[OwnEmulators]:
    """Start both emulators on free ports, yield them, and stop them at the end; they log into `logs`.

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
def share_emulators(resources: SharedResources) -> Iterator[Emulators]:
    """Yield one pair of emulators for all processes of a test run."""
    with start_emulators(find_jars(os.environ), resources.folder) as pair:
        yield pair.to_attachable()


SHARED_EMULATORS = f"{__name__}:{share_emulators.__name__}"
