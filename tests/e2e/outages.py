"""Outages below a running suite, on each backend."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from aex_cli.suite.service_spec import MODULES
from tests.e2e.backend import EMBEDDED, EMULATED
from tests.e2e.live import Live
from tests.emulators.emulator import OwnEmulator

_OUR_TURN_S = 30.0
"""For which the test itself waits for a lock."""


@dataclass(frozen=True, slots=True)
class Outage:
    """Outage of a part, and its seconds: longer than the time limit of a call to that part."""

    begin: Callable[[Live], AbstractContextManager[None]]
    lasts_s: float


@contextmanager
def _locked(files: Iterable[Path]) -> Iterator[None]:
    """Hold the write locks of the files: readers continue, writers wait."""
    with ExitStack() as held:
        for each in files:
            connection = held.enter_context(closing(sqlite3.connect(each, timeout=_OUR_TURN_S, isolation_level=None)))
            connection.execute("BEGIN IMMEDIATE")
        yield


def _stores_locked(live: Live) -> AbstractContextManager[None]:
    return _locked(live.data_dir / service / "store.sqlite3" for service in MODULES)


def _queues_locked(live: Live) -> AbstractContextManager[None]:
    return _locked((live.data_dir / "bus").glob("*.sqlite3"))


@contextmanager
def _disk_full(live: Live) -> Iterator[None]:
    """Refuse every further byte of the services' files: records, messages, blobs and logs."""
    services = [live.process(service) for service in MODULES]
    limits = [each.rlimit(psutil.RLIMIT_FSIZE) for each in services]
    for each, (_, hard) in zip(services, limits, strict=True):
        each.rlimit(psutil.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        for each, before in zip(services, limits, strict=True):
            each.rlimit(psutil.RLIMIT_FSIZE, before)


def _paused(emulator: str) -> Callable[[Live], AbstractContextManager[None]]:
    def begin(live: Live) -> AbstractContextManager[None]:
        chosen: OwnEmulator = getattr(live.backend.emulators, emulator)
        return chosen.paused()

    return begin


OUTAGES: Mapping[str, Mapping[str, Outage]] = {
    EMBEDDED.name: {
        "stores locked": Outage(_stores_locked, 8),
        "queues locked": Outage(_queues_locked, 8),
        "disk full": Outage(_disk_full, 4),
    },
    EMULATED: {
        "firestore": Outage(_paused("firestore"), 12),
        "pubsub": Outage(_paused("pubsub"), 12),
    },
}
"""By backend and name."""
