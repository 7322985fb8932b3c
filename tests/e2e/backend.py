"""Backends of a suite: SQLite and queue files in its data directory, or the emulators."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from aex_runtime.settings import RuntimeSettings
from tests.emulators.emulators import Emulators, new_project

EMULATED = "emulators-with-folder-blobs"
"""Backend with blobs in the data directory: there is no emulator of Cloud Storage."""


@dataclass(frozen=True, slots=True)
class Backend:
    """Backend of records and events: its variables and its project on the emulators."""

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
    project = new_project()
    return Backend(EMULATED, emulators.project_environment(project), project, emulators)


BACKENDS = (EMBEDDED.name, pytest.param(EMULATED, marks=pytest.mark.emulator))
"""The parameters of a fixture that there is on both."""


def requested(request: pytest.FixtureRequest) -> Backend:
    """The one that the fixture's parameter names; on the emulators a new project each time."""
    return EMBEDDED if request.param == EMBEDDED.name else on_emulators(request.getfixturevalue("emulators"))
