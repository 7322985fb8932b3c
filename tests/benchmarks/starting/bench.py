"""From the start of a service's process to its first `/readyz`, beside a bare FastAPI app on the same store client."""

import re
import statistics
import tempfile
from pathlib import Path

from aex_cli.suite.service_spec import MODULES
from tests.benchmarks.bars import Finding, Line, Row, Unit
from tests.benchmarks.processes import running
from tests.benchmarks.size import Size

BAR = 1.5
BARE = "tests.benchmarks.bare"
AGAINST = "bare FastAPI app, same store client"
HEAVY = ("sklearn", "nltk", "duckdb", "rouge_score", "pydantic_ai", "openai", "torch", "transformers")
"""What the services that verify nothing have no use for: the last four are model libraries."""
LIGHT = ("work-publisher", "governance", "settlement")
_IMPORTED = re.compile(r"^import time:\s+\d+ \|\s+\d+ \|\s+(\S+)$", re.MULTILINE)


def measure(size: Size) -> list[Line]:
    """Each service beside the bare app, in turns; then what the light ones import."""
    with tempfile.TemporaryDirectory(prefix="aex-starting-") as folder:
        place = Path(folder)
        rows = [row for name, module in MODULES.items() for row in _beside_bare(name, module, place, size.rounds)]
        return [*rows, *(_imports(name, place) for name in LIGHT)]


def _beside_bare(name: str, module: str, place: Path, rounds: int) -> list[Row]:
    times: dict[str, list[tuple[float, float]]] = {module: [], BARE: []}
    for number in range(rounds + 1):
        for each in (module, BARE) if number % 2 else (BARE, module):
            taken = _start(each, place)
            if number:  # the first one makes files, and writes bytecode
                times[each].append(taken)

    def beside_bare(told: str, which: int, bar: float | None) -> Row:
        ours, bare = (statistics.median(each[which] for each in times[side]) for side in (module, BARE))
        return Row(f"start to ready: {name}{told}", AGAINST, ours, bare, bar, Unit.SECONDS)

    return [beside_bare("", 0, BAR), beside_bare(", processor time", 1, None)]


def _start(module: str, place: Path) -> tuple[float, float]:
    """Seconds to ready, by the clock and of the processor."""
    (place / module).mkdir(exist_ok=True)
    with running(["-m", module], {"AEX_DATA_DIR": str(place / module)}, place / f"{module}.log") as started:
        return started.ready_s, started.cpu_s()


def _imports(name: str, place: Path) -> Finding:
    module, log = MODULES[name], place / f"{name}.imports"
    with running(["-X", "importtime", "-m", module], {"AEX_DATA_DIR": str(place / module)}, log):
        pass
    found = set(_IMPORTED.findall(log.read_text(errors="replace")))
    if module not in found:
        raise AssertionError(f"{log} does not tell what was imported")
    heavy = sorted({each.partition(".")[0] for each in found} & set(HEAVY))
    told = f"{len(found):,} modules, " + (f"with {', '.join(heavy)}" if heavy else "none of them")
    return Finding(f"imported by {name}", "scikit-learn, nltk, duckdb, models", told, not heavy)
