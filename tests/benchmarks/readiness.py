"""Time until `/readyz` fails when store or bus are unreachable, embedded and on Google's backends.

A locked file and a host that never responds are the slowest failures: nothing is refused.
"""

import socket
import sqlite3
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from http import HTTPStatus
from pathlib import Path

from aex_cli.suite.service_spec import MODULES
from tests.benchmarks.harness import BenchRow, BenchSize, FigureUnit, TableRow
from tests.benchmarks.processes import HOST, get_status, serve

BOUND_S = 5.0
_TIMEOUT_S = 30.0


def measure_readiness(_: BenchSize) -> list[TableRow]:
    """Return a row per outage, with the slowest of the four services."""
    with socket.create_server((HOST, 0)) as silent:
        host = f"{HOST}:{silent.getsockname()[1]}"
        firestore = {"AEX_STORE_URL": "firestore://silent-store", "FIRESTORE_EMULATOR_HOST": host}
        pubsub = {"AEX_BUS_URL": "pubsub://silent-bus", "PUBSUB_EMULATOR_HOST": host}
        outages: tuple[tuple[str, Mapping[str, str], str], ...] = (
            ("store file locked", {}, "*/store.sqlite3"),
            ("queue files locked", {}, "bus/*.sqlite3"),
            ("Firestore does not respond", firestore, ""),
            ("Pub/Sub does not respond", pubsub, ""),
        )
        return [
            BenchRow(
                f"/readyz fails: {name}",
                "the bound, slowest service",
                max(_time_to_failure(module, environment, locked) for module in MODULES.values()),
                BOUND_S,
                1.0,
                FigureUnit.SECONDS,
            )
            for name, environment, locked in outages
        ]


def _time_to_failure(module: str, environment: Mapping[str, str], locked: str) -> float:
    """Return the seconds from the outage to the first 503 of `/readyz`."""
    with tempfile.TemporaryDirectory(prefix="aex-readiness-") as folder:
        data_dir = Path(folder) / ".aex"
        variables = {"AEX_DATA_DIR": str(data_dir), **environment}
        ready_path = "/readyz" if locked else "/healthz"
        with serve(["-m", module], variables, Path(folder) / "log", ready_path) as server, _lock(data_dir, locked):
            begin = time.perf_counter()
            while (status := get_status(server.port, "/readyz", _TIMEOUT_S)) != HTTPStatus.SERVICE_UNAVAILABLE:
                assert time.perf_counter() - begin < _TIMEOUT_S, f"{module}: /readyz still returns {status}"
            return time.perf_counter() - begin


@contextmanager
def _lock(folder: Path, pattern: str) -> Iterator[None]:
    files = list(folder.glob(pattern)) if pattern else []
    assert files or not pattern, f"{folder} has no {pattern}"
    connections = [sqlite3.connect(each, timeout=_TIMEOUT_S, isolation_level=None) for each in files]
    try:
        for each in connections:
            each.execute("BEGIN IMMEDIATE")
        yield
    finally:
        for each in connections:
            with closing(each):
                each.rollback()
