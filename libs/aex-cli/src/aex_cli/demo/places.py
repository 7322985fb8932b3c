"""Where a demo's data are, as far as its reader has to know."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from aex_runtime.settings import RuntimeSettings

_VARIABLES = ("AEX_STORE_URL", "AEX_BUS_URL", "AEX_BLOBS_URL", "AEX_KEY_FILE")
_EMULATORS = ("FIRESTORE_EMULATOR_HOST", "PUBSUB_EMULATOR_HOST", "STORAGE_EMULATOR_HOST")


@dataclass(frozen=True, slots=True)
class Places:
    """In words, and as a line for a shell."""

    told: str
    """What is kept where."""
    afterwards: str
    """What becomes of it when the services are stopped."""
    exports: str | None
    """The variables that lead there again; None where the data directory says it all."""


def places_of(settings: RuntimeSettings, data_dir: Path, environ: Mapping[str, str]) -> Places:
    """The places that the services on these settings use; `data_dir` is written as the user did."""
    kept = [
        ("records", settings.store_url, "firestore:", settings.firestore_emulator_host),
        ("events", settings.bus_url, "pubsub:", settings.pubsub_emulator_host),
        ("blobs", settings.blobs_url, "gs:", settings.storage_emulator_host),
    ]
    if not any(url for _, url, _, _ in kept):
        return Places(f"data in {data_dir}", "the data stay", _exports(environ))
    told, emulated = [], []
    for what, url, scheme, emulator in kept:
        if url is not None and url.startswith(scheme) and emulator:
            emulated.append(what)
            told.append(f"{what} in {url} on the emulator {emulator}")
        else:
            told.append(f"{what} in {url or data_dir}")
    afterwards = f"{_listed(emulated)} stay as long as the emulators run" if emulated else "the data stay"
    return Places(", ".join(told), afterwards, _exports(environ))


def _exports(environ: Mapping[str, str]) -> str | None:
    given = [name for name in _VARIABLES if environ.get(name)]
    if not given:
        return None
    names = [name for name in (*_EMULATORS, *given) if environ.get(name)]
    return "export " + " ".join(f"{name}={shlex.quote(environ[name])}" for name in names)


def _listed(words: list[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
