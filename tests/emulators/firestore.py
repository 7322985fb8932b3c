"""The Firestore emulator, with a restart that keeps documents."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import httpx

from tests.emulators.emulator import SHORT_LIVED, OwnEmulator, Program
from tests.emulators.jars import Jars

_MAIN = "com.google.cloud.datastore.emulator.firestore.CloudFirestore"
# Its messages are matched by their text: in English, whatever the machine speaks.
_JVM = (*SHORT_LIVED, "-Xmx1g", "-Duser.language=en")
_COPY_S = 60.0


class FirestoreEmulator(OwnEmulator):
    """The Firestore emulator. A project or database exists, without documents, once it is first used."""

    def __init__(self, jars: Jars, logs: Path) -> None:
        """Start it on a free port. Raises `EmulatorFailed`."""
        command = (jars.java, *_JVM, "-cp", str(jars.firestore), _MAIN)
        super().__init__(Program("firestore", command, "/v1/projects/ready/databases/(default)/documents/ready"), logs)

    def restart_keeping(self, projects: Sequence[str]) -> None:
        """Restart the emulator on the same port, keeping the default databases of `projects`.

        The documents get the time of the restart as `update_time`. The option `--export-on-exit` cannot be used: the
        shutdown ends before the export.
        """
        with TemporaryDirectory(prefix="aex-firestore-") as folder:
            for project in projects:
                self._copy("export", project, {"export_directory": folder, "export_name": project})
            self.restart()
            for project in projects:
                made = f"{folder}/{project}/{project}.overall_export_metadata"
                self._copy("import", project, {"export_directory": made})

    def _copy(self, verb: Literal["export", "import"], project: str, paths: dict[str, str]) -> None:
        body = {"database": f"projects/{project}/databases/(default)", **paths}
        with httpx.Client(trust_env=False, timeout=_COPY_S) as http:
            http.post(f"http://{self.host}/emulator/v1/projects/{project}:{verb}", json=body).raise_for_status()
