"""After how long `/readyz` tells that store or bus cannot be reached: embedded, and on Google's backends.

A file that somebody holds locked and a host that says nothing are the slowest ways to fail: nothing is refused.
"""

import socket
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path

from aex_cli.suite.service_spec import MODULES
from tests.benchmarks.bars import Row, Unit
from tests.benchmarks.processes import HOST, ask, running

BOUND_S = 5.0
_PATIENCE_S = 30.0


def _nothing(_: Path) -> AbstractContextManager[None]:
    return nullcontext()


@dataclass(frozen=True, slots=True)
class Outage:
    """What is away: from the start, by the environment, or from the moment `begin` takes it from a data directory."""

    name: str
    environment: Mapping[str, str] = field(default_factory=dict)
    begin: Callable[[Path], AbstractContextManager[None]] = _nothing


def measure() -> list[Row]:
    """A row for each outage, with the slowest of the four services."""
    with _silent() as host:
        outages = (
            Outage("store file locked", begin=_stores_locked),
            Outage("queue files locked", begin=_queues_locked),
            Outage(
                "Firestore says nothing", {"AEX_STORE_URL": "firestore://silent-store", "FIRESTORE_EMULATOR_HOST": host}
            ),
            Outage("Pub/Sub says nothing", {"AEX_BUS_URL": "pubsub://silent-bus", "PUBSUB_EMULATOR_HOST": host}),
        )
        return [
            Row(
                f"/readyz is red: {outage.name}",
                "the bound, slowest service",
                max(_until_red(module, outage) for module in MODULES.values()),
                BOUND_S,
                1.0,
                Unit.SECONDS,
            )
            for outage in outages
        ]


def _until_red(module: str, outage: Outage) -> float:
    """Seconds from the outage to the first answer that tells of it."""
    with tempfile.TemporaryDirectory(prefix="aex-readiness-") as folder:
        data_dir = Path(folder) / ".aex"
        environment = {"AEX_DATA_DIR": str(data_dir), **outage.environment}
        first = "/healthz" if outage.environment else "/readyz"
        with running(["-m", module], environment, Path(folder) / "log", first) as service, outage.begin(data_dir):
            begin = time.perf_counter()
            while (status := ask(service.port, "/readyz", _PATIENCE_S)) != HTTPStatus.SERVICE_UNAVAILABLE:
                if time.perf_counter() - begin > _PATIENCE_S:
                    raise AssertionError(f"{module}: {outage.name}, and /readyz still answers {status}")
            return time.perf_counter() - begin


@contextmanager
def _silent() -> Iterator[str]:
    """`host:port` of somebody who takes connections, and says nothing."""
    with socket.create_server((HOST, 0)) as server:
        yield f"{HOST}:{server.getsockname()[1]}"


def _stores_locked(data_dir: Path) -> AbstractContextManager[None]:
    return _locked(next(data_dir.glob("*/store.sqlite3")))


def _queues_locked(data_dir: Path) -> AbstractContextManager[None]:
    return _locked(*(data_dir / "bus").glob("*.sqlite3"))


@contextmanager
def _locked(*files: Path) -> Iterator[None]:
    connections = [sqlite3.connect(each, timeout=_PATIENCE_S, isolation_level=None) for each in files]
    try:
        for each in connections:
            each.execute("BEGIN IMMEDIATE")
        yield
    finally:
        for each in connections:
            with closing(each):
                each.rollback()
