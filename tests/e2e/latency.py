"""Time from publication to settlement, contract after contract: `python -m tests.e2e.latency [COUNT]`."""

import sys
import tempfile
import time
from pathlib import Path
from statistics import median, quantiles

from rich.console import Console
from rich.table import Table

from tests.e2e.jobs import GOOD, contract, deliver, until_settled
from tests.e2e.live import Live, live_suite
from tests.e2e.parties import parties_of

WARM_UP = 5


def measured(live: Live, count: int) -> list[tuple[float, float, float]]:
    """Return the milliseconds from publication and candidate to verdict and settlement of each contract."""
    parties, found = parties_of(live), []
    for location in range(WARM_UP + count):
        begin = time.perf_counter()
        contract_id = contract(parties)
        posted = time.perf_counter()
        deliver(parties, contract_id, f"{GOOD} {location}")
        judged = time.perf_counter()
        until_settled(parties.finance, contract_id, poll_s=0.001)
        end = time.perf_counter()
        found.append(((end - begin) * 1e3, (end - posted) * 1e3, (judged - posted) * 1e3))
    return found[WARM_UP:]


def main(count: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        begin = time.perf_counter()
        with live_suite(Path(folder) / ".aex") as live:
            ready_s = time.perf_counter() - begin
            columns = zip(*measured(live, count), strict=True)
    table = Table("ms", "p50", "p95", "max", title=f"{count} contracts one after another; ready in {ready_s:.1f} s")
    for name, values in zip(("published → settled", "posted → settled", "posted → verdict"), columns, strict=True):
        table.add_row(name, *(f"{each:.1f}" for each in (median(values), quantiles(values, n=20)[-1], max(values))))
    Console().print(table)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 60)
