"""All rows of the books over HTTP, out of the real service as a process, and what memory that takes."""

import csv
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import httpx
import psutil

from aex_models.audiences import Audience
from aex_runtime.clock import WallClock
from aex_runtime.identity.local_issuer import LocalIssuer
from aex_runtime.identity.local_key import local_key
from aex_runtime.ids import RandomIds
from tests.benchmarks.ledger.drawing import FIRST_DAY
from tests.benchmarks.ledger.recount import FIGURES, Cells
from tests.libs.cli.suites import free_ports

_SAMPLES_S = 0.02
_PATIENCE_S = 120.0
_MB = 1 << 20
_WARMING = timedelta(days=3)


@dataclass(slots=True)
class Export:
    """One export, as its reader met it."""

    rows: int = 0
    sums: tuple[int, ...] = ()
    """Of `FIGURES`."""
    seconds: float = 0.0
    before_mb: float = 0.0
    peak_mb: float = 0.0
    after_mb: float = 0.0

    @property
    def rows_per_s(self) -> float:
        """Read, parsed and added up."""
        return self.rows / self.seconds

    def check(self, bookings: int, cells: Cells) -> None:
        """Raise `AssertionError` where it is not what the recount comes to."""
        assert self.rows == bookings, f"{self.rows} rows were exported of {bookings}"
        sums = tuple(map(sum, zip(*cells.values(), strict=True)))
        assert self.sums == sums, f"the export's columns come to {self.sums}, the recount to {sums}"


def export(folder: Path) -> Export:
    """Export everything as CSV, after the first days alone, which warm what there is to be warmed."""
    with _served(folder) as (process, client):
        _read(process, client, to=f"{FIRST_DAY + _WARMING:%Y-%m-%d}")
        return _read(process, client)


def _read(process: psutil.Process, client: httpx.Client, **days: str) -> Export:
    found, begin = Export(), time.perf_counter()
    asked = client.stream("GET", "/v1/settlements/export", params={"format": "csv", **days})
    with _watched(process, found), asked as answer:
        answer.raise_for_status()
        sums = [0] * len(FIGURES)
        for row in csv.DictReader(answer.iter_lines()):
            found.rows += 1
            for place, amount in enumerate(_figures(row)):
                sums[place] += amount
    found.seconds, found.sums = time.perf_counter() - begin, tuple(sums)
    return found


def _figures(row: dict[str, str]) -> list[int]:
    """What a row counts: reversals negatively."""
    sign = -1 if row["kind"] == "reversal" else 1
    amounts = (int(Decimal(row[name]).scaleb(6)) for name in ("base", "bonus", "penalty", "total"))
    return [sign, sign * (row["success"] == "true"), *amounts]


@contextmanager
def _watched(process: psutil.Process, found: Export) -> Iterator[None]:
    """Notes the process's memory before, at its peak, and after."""
    over = threading.Event()
    found.before_mb = found.peak_mb = process.memory_info().rss / _MB

    def look() -> None:
        while not over.wait(_SAMPLES_S):
            found.peak_mb = max(found.peak_mb, process.memory_info().rss / _MB)

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
        found.after_mb = process.memory_info().rss / _MB


@contextmanager
def _served(folder: Path) -> Iterator[tuple[psutil.Process, httpx.Client]]:
    """The settlement service on the books, and a client of it with finance's token."""
    issuer = LocalIssuer(local_key(folder), WallClock(), RandomIds())
    headers = {"Authorization": f"Bearer {issuer.mint('finance', Audience.FINANCE)}"}
    port = free_ports(1)
    variables = {**os.environ, "AEX_DATA_DIR": str(folder), "AEX_PORT": str(port), "AEX_LOG_LEVEL": "warning"}
    server = subprocess.Popen([sys.executable, "-m", "aex_settlement"], env=variables)
    client = httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=_PATIENCE_S, trust_env=False)
    try:
        with client:
            _until_ready(client)
            yield psutil.Process(server.pid), client
    finally:
        server.terminate()
        server.wait()


def _until_ready(client: httpx.Client) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while time.monotonic() < deadline:
        try:
            if client.get("/readyz").is_success:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.1)
    raise TimeoutError(f"the service was not ready within {_PATIENCE_S:g} s")
