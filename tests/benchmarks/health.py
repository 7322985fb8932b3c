"""Latency of `/healthz` while verification grades a long candidate.

Metric code must not delay the event loop. `python -m tests.benchmarks.health FILE` repeats the grading of the body in
FILE until killed.
"""

import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from itertools import repeat
from pathlib import Path
from typing import Any

import uvloop

from aex_models.audiences import Audience
from aex_models.criteria import SuccessCriteria
from aex_outcomes import VerificationEngine
from tests.benchmarks.harness import BenchRow, BenchSize, FigureUnit, TableRow, alternate, p95
from tests.benchmarks.http_load import KeptConnection, request_bytes, send_closed_loop
from tests.benchmarks.publishing import NO_RATE_LIMIT
from tests.e2e.live import Live, clean_environment, live_suite
from tests.e2e.parties import caller
from tests.libs.cli.suites import ROOT
from tests.libs.outcomes.kernels.texts import prose

TOKENS = 4_000
EVERY_S = 0.01
BAR = 1.5
"""The figure is below a millisecond, and the grading uses the same processors."""
METRICS = {"rougeL": "rouge_score", "rouge2": "rouge_score", "bleu_score": "bleu_score"}
Load = Callable[[], Awaitable[object]]


def measure_health(size: BenchSize) -> list[TableRow]:
    """Return the rows of verification in a suite of its own."""
    with (
        tempfile.TemporaryDirectory(prefix="aex-health-") as folder,
        live_suite(Path(folder) / ".aex", environment=NO_RATE_LIMIT) as live,
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
    ):
        return runner.run(_measure(live, size))


async def _measure(live: Live, size: BenchSize) -> list[TableRow]:
    """Compare with an idle service, and with the same work in an unrelated process."""
    port = live.running.port + 1
    file = live.data_dir.parent / "body.json"
    file.write_bytes(_body())
    request = request_bytes("POST", "/v1/verify", caller(live, Audience.CONSUMER, "acme").token, file.read_bytes())

    async def grade() -> None:
        await send_closed_loop(port, repeat(request), 1, size.seconds, 200)

    async def rest() -> None:
        await asyncio.sleep(size.seconds)

    async def grade_elsewhere() -> None:
        command = [sys.executable, "-m", "tests.benchmarks.health", str(file)]
        process = await asyncio.create_subprocess_exec(*command, cwd=ROOT, env=clean_environment())
        await asyncio.sleep(size.seconds)
        process.kill()
        await process.wait()

    def side(load: Load) -> Callable[[], Awaitable[float]]:
        return lambda: _healthz_p95(port, load)

    results = await alternate([side(grade), side(rest), side(grade_elsewhere)], size.rounds)
    busy, idle, shared = map(statistics.median, results)
    name = f"p95 of /healthz, {TOKENS:,} tokens under verification"
    return [
        BenchRow(name, "none under verification", busy, idle, BAR, FigureUnit.SECONDS),
        BenchRow(name, "the same work in an unrelated process", busy, shared, None, FigureUnit.SECONDS),
    ]


def _body() -> bytes:
    criteria = [
        {"metric": name, "metric_type": kind, "comparison": "gte", "threshold": 0.4} for name, kind in METRICS.items()
    ]
    body = {
        "success_criteria": {"criteria": criteria},
        "input": {},
        "evaluation": {"reference": prose(2, TOKENS)},
        "output": {"text": prose(1, TOKENS)},
    }
    return json.dumps(body).encode()


async def _healthz_p95(port: int, load: Load) -> float:
    line, request = await KeptConnection.open(port), request_bytes("GET", "/healthz")
    running, seconds = asyncio.ensure_future(load()), list[float]()
    while not running.done():
        begin = time.perf_counter()
        response = await line.send(request)
        seconds.append(time.perf_counter() - begin)
        assert response.status == 200, f"/healthz returned {response.status}"
        await asyncio.sleep(EVERY_S)
    line.close()
    await running
    return p95(seconds)


async def _grade_forever(body: dict[str, Any]) -> None:
    engine = VerificationEngine({"caching": {"extractor_results_ttl": 0}})
    criteria = SuccessCriteria.model_validate(body["success_criteria"])
    while True:
        await engine.verify(
            contract_id="ctr_1",
            work_input={},
            evaluation=body["evaluation"],
            work_output=body["output"],
            success_criteria=criteria,
            execution_metadata={},
        )


if __name__ == "__main__":
    asyncio.run(_grade_forever(json.loads(Path(sys.argv[1]).read_text())))
