"""Finding the archives of the emulators, and Java, on this machine."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

_USUAL_FOLDERS = (
    Path("/usr/lib/google-cloud-sdk"),
    Path("/usr/share/google-cloud-sdk"),
    Path("/opt/google-cloud-sdk"),
    Path("/snap/google-cloud-cli/current"),
    Path("~/google-cloud-sdk").expanduser(),
)
_ASK_S = 20
_FIRESTORE, _PUBSUB = "AEX_FIRESTORE_EMULATOR_JAR", "AEX_PUBSUB_EMULATOR_JAR"


class EmulatorsMissing(Exception):
    """The error for missing emulators. The message says what is missing and how to install it."""


@dataclass(frozen=True, slots=True)
class Jars:
    """The Java command, and the archive of each emulator."""

    java: str
    firestore: Path
    pubsub: Path


def find_jars(environ: Mapping[str, str]) -> Jars:
    """Return the archives that variables name, or else those of the Google Cloud SDK.

    Raises `EmulatorsMissing`.
    """
    firestore = _named(environ, _FIRESTORE) or _found(environ, "cloud-firestore-emulator/cloud-firestore-emulator.jar")
    pubsub = _named(environ, _PUBSUB) or _found(environ, "pubsub-emulator/lib/cloud-pubsub-emulator-*-all.jar")
    java = shutil.which("java", path=environ.get("PATH"))
    if firestore is None or pubsub is None or java is None:
        raise EmulatorsMissing("; ".join(_advice(java, firestore, pubsub)))
    return Jars(java, firestore, pubsub)


def _named(environ: Mapping[str, str], variable: str) -> Path | None:
    named = environ.get(variable)
    if not named:
        return None
    if not Path(named).is_file():
        raise EmulatorsMissing(f"{variable}: there is no file {named}")
    return Path(named)


def _found(environ: Mapping[str, str], pattern: str) -> Path | None:
    return next((jar for root in _sdk_roots(environ) for jar in sorted((root / "platform").glob(pattern))), None)


def _sdk_roots(environ: Mapping[str, str]) -> Iterator[Path]:
    """Yield the folders that may hold the SDK, beginning with the likeliest."""
    if named := environ.get("CLOUDSDK_ROOT_DIR"):
        yield Path(named)
    gcloud = shutil.which("gcloud", path=environ.get("PATH"))
    if gcloud:
        yield Path(gcloud).resolve().parent.parent
    yield from _USUAL_FOLDERS
    if gcloud:
        yield from _sdk_from_gcloud(gcloud)


def _sdk_from_gcloud(gcloud: str) -> Iterable[Path]:
    command = [gcloud, "info", "--format=value(installation.sdk_root)"]
    try:
        reported = subprocess.run(command, capture_output=True, text=True, timeout=_ASK_S, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):  # one that cannot say it is no help in finding them
        return ()
    return (Path(reported),) if reported else ()


def _advice(java: str | None, firestore: Path | None, pubsub: Path | None) -> Iterator[str]:
    if java is None:
        yield "the emulators need Java: `apt-get install default-jre-headless`"
    for name, jar, component, variable in (
        ("Firestore", firestore, "cloud-firestore-emulator", _FIRESTORE),
        ("Pub/Sub", pubsub, "pubsub-emulator", _PUBSUB),
    ):
        if jar is None:
            package = f"google-cloud-cli-{component.removeprefix('cloud-')}"
            yield (
                f"the {name} emulator is not on this machine: `gcloud components install {component}`, "
                f"or `apt-get install {package}` from Google's repository, or name its .jar in {variable}"
            )


if __name__ == "__main__":  # needs nothing but Python: asked before anything is installed
    try:
        find_jars(os.environ)
    except EmulatorsMissing as missing:
        sys.exit(str(missing))
