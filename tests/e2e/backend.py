"""What a suite of the tests runs on: SQLite and queue files in its data directory, or the emulators."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

from aex_runtime.settings import RuntimeSettings
from tests.emulators.emulators import Emulators

EMULATED = "emulators-with-folder-blobs"
"""No emulator of Cloud Storage is at hand: blobs stay in the data directory."""


@dataclass(frozen=True, slots=True)
class Backend:
    """Where records and events are: the variables that say so, and the project on the emulators."""

    name: str
    environment: Mapping[str, str] = field(default_factory=dict)
    project: str | None = None
    emulators: Emulators | None = None

    def settings(self, data_dir: Path) -> RuntimeSettings:
        """As the services on this backend read them, for tests that open the same store and bus."""
        return RuntimeSettings(
            data_dir=data_dir,
            store_url=self.environment.get("AEX_STORE_URL"),
            bus_url=self.environment.get("AEX_BUS_URL"),
            firestore_emulator_host=self.environment.get("FIRESTORE_EMULATOR_HOST"),
            pubsub_emulator_host=self.environment.get("PUBSUB_EMULATOR_HOST"),
        )


EMBEDDED = Backend("embedded")


def on_emulators(emulators: Emulators) -> Backend:
    """A new project, with nothing in it."""
    project = f"t-{uuid4().hex[:12]}"
    urls = {"AEX_STORE_URL": f"firestore://{project}", "AEX_BUS_URL": f"pubsub://{project}"}
    return Backend(EMULATED, {**urls, **emulators.environment()}, project, emulators)
