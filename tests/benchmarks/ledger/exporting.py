"""The export of a whole ledger over HTTP by the real service, and the memory that it takes."""

import csv
import time
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import httpx
import psutil

from aex_models.audiences import Audience
from aex_runtime.clock import WallClock
from aex_runtime.identity.local_key import load_or_create_key
from aex_runtime.identity.tokens import LocalIssuer
from aex_runtime.ids import RandomIds
from tests.benchmarks.harness import print_line
from tests.benchmarks.ledger.drawing import FIRST_DAY
from tests.benchmarks.ledger.recount import FIGURES, LedgerSums
from tests.benchmarks.processes import HOST, serve

_SAMPLE_ROWS = 200
_TIMEOUT_S = 120.0
_MB = 1 << 20


def measure_export(folder: Path, sums: LedgerSums) -> None:
    """Export everything as CSV, check it against the recount, and print time and memory.

    An export of the first days warms the service up.
    """
    token = LocalIssuer(load_or_create_key(folder), WallClock(), RandomIds()).mint("finance", Audience.FINANCE)
    environment = {"AEX_DATA_DIR": str(folder), "AEX_LOG_LEVEL": "warning"}
    with (
        serve(["-m", "aex_settlement"], environment, folder / "service.log") as server,
        httpx.Client(base_url=f"http://{HOST}:{server.port}", timeout=_TIMEOUT_S, trust_env=False) as client,
    ):
        client.headers["Authorization"] = f"Bearer {token}"
        _read_export(server.process, client, to=f"{FIRST_DAY + timedelta(days=3):%Y-%m-%d}")
        before, begin = server.process.memory_info().rss / _MB, time.perf_counter()
        rows, columns, peak = _read_export(server.process, client)
        seconds = time.perf_counter() - begin
    assert rows == sums.export_rows, f"{rows} rows were exported of {sums.export_rows}"
    assert columns == [sum(column) for column in zip(*sums.cells.values(), strict=True)], "the columns differ"
    print_line(
        f"export of {rows:,} rows ({folder.name}): {seconds:,.1f} s, {rows / seconds:,.0f} rows/s; memory "
        f"{before:.0f} MB before, {peak:.0f} MB at its peak; its columns equal the recount"
    )


def _read_export(process: psutil.Process, client: httpx.Client, **days: str) -> tuple[int, list[int], float]:
    """Return the number of rows, the sums of `FIGURES`, and the process's peak memory in MB.

    The amounts of a reversal are negative.
    """
    rows, sums, peak = 0, [0] * len(FIGURES), 0.0
    with client.stream("GET", "/v1/settlements/export", params={"format": "csv", **days}) as response:
        response.raise_for_status()
        for row in csv.DictReader(response.iter_lines()):
            rows += 1
            if rows % _SAMPLE_ROWS == 1:
                peak = max(peak, process.memory_info().rss / _MB)
            sign = -1 if row["kind"] == "reversal" else 1
            amounts = (int(Decimal(row[name]).scaleb(6)) for name in ("base", "bonus", "penalty", "total"))
            for index, figure in enumerate((sign, sign * (row["success"] == "true"), *amounts)):
                sums[index] += figure
    return rows, sums, peak
