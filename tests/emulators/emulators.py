"""A pair of emulators, as a suite of services needs it."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from tests.emulators.firestore import FirestoreEmulator
from tests.emulators.jars import Jars
from tests.emulators.pubsub import PubSubEmulator


@dataclass(frozen=True, slots=True)
class Emulators:
    """Both, running."""

    firestore: FirestoreEmulator
    pubsub: PubSubEmulator

    def environment(self) -> dict[str, str]:
        """The variables by which Google's libraries, and the services, find them."""
        return {"FIRESTORE_EMULATOR_HOST": self.firestore.host, "PUBSUB_EMULATOR_HOST": self.pubsub.host}

    def of_project(self, project: str) -> dict[str, str]:
        """All that a service needs to keep its records and events in them."""
        urls = {"AEX_STORE_URL": f"firestore://{project}", "AEX_BUS_URL": f"pubsub://{project}"}
        return {**self.environment(), **urls}


def new_project() -> str:
    """The id of a project that nobody else uses, so that there is nothing in it."""
    return f"t-{uuid4().hex[:12]}"


@contextmanager
def started(jars: Jars, logs: Path) -> Iterator[Emulators]:
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
        yield Emulators(firestore.result(), pubsub.result())
