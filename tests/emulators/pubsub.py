"""The Pub/Sub emulator."""

from pathlib import Path

from tests.emulators.emulator import SHORT_LIVED, OwnEmulator, Program
from tests.emulators.jars import Jars

_JVM = (*SHORT_LIVED, "-Xmx512m")


class PubSubEmulator(OwnEmulator):
    """Any project; topics and subscriptions are there once they are made."""

    def __init__(self, jars: Jars, logs: Path) -> None:
        """Start it on a free port. Raises `EmulatorFailed`."""
        command = (jars.java, *_JVM, "-jar", str(jars.pubsub))
        super().__init__(Program("pubsub", command, "/v1/projects/ready/topics"), logs)
