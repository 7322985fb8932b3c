"""Start of each service until `/readyz` succeeds, beside a bare FastAPI app on the same store client."""

import asyncio
import re
import statistics
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

from aex_cli.suite.service_spec import MODULES
from tests.benchmarks.harness import BenchRow, BenchSize, Fact, FigureUnit, TableRow, alternate
from tests.benchmarks.processes import serve

BAR = 1.5
AGAINST = "bare FastAPI app, same store client"
HEAVY = {"sklearn", "nltk", "duckdb", "rouge_score", "pydantic_ai", "openai", "torch", "transformers"}
LIGHT = ("work-publisher", "governance", "settlement")
"""Services that grade nothing, and so must not import `HEAVY` modules."""
_IMPORTED = re.compile(r"^import time:\s+\d+ \|\s+\d+ \|\s+(\S+)$", re.MULTILINE)


def measure_starts(size: BenchSize) -> list[TableRow]:
    """Return the starts by wall clock and processor time, then the imports of light services."""
    with tempfile.TemporaryDirectory(prefix="aex-starting-") as temporary:
        folder, rows = Path(temporary), list[TableRow]()
        for name, module in MODULES.items():
            sides = [_start(module, folder), _start("tests.benchmarks.bare_app", folder)]
            results = asyncio.run(alternate(sides, size.rounds))
            for index, text, bar in ((0, "", BAR), (1, ", processor time", None)):
                own, baseline = (statistics.median(each[index] for each in side) for side in results)
                rows.append(BenchRow(f"start to ready: {name}{text}", AGAINST, own, baseline, bar, FigureUnit.SECONDS))
        return [*rows, *(_check_imports(name, folder) for name in LIGHT)]


def _start(module: str, folder: Path) -> Callable[[], Awaitable[tuple[float, float]]]:
    """Return a side whose result is (seconds to ready, processor seconds)."""
    (folder / module).mkdir(exist_ok=True)

    async def run() -> tuple[float, float]:
        with serve(["-m", module], {"AEX_DATA_DIR": str(folder / module)}, folder / f"{module}.log") as server:
            return server.ready_s, server.cpu_s()

    return run


def _check_imports(name: str, folder: Path) -> Fact:
    module, log = MODULES[name], folder / f"{name}.imports"
    with serve(["-X", "importtime", "-m", module], {"AEX_DATA_DIR": str(folder / module)}, log):
        pass
    imported = set(_IMPORTED.findall(log.read_text(errors="replace")))
    assert module in imported, f"{log} does not list the imports"
    heavy = sorted({each.partition(".")[0] for each in imported} & HEAVY)
    text = f"{len(imported):,} modules, " + (f"with {', '.join(heavy)}" if heavy else "none of them")
    return Fact(f"imported by {name}", "scikit-learn, nltk, duckdb, models", text, not heavy)
