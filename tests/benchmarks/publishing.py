"""`POST /v1/work` beside a plain FastAPI route with the same model and one durable commit."""

import asyncio
import json
import statistics
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Any

import uvloop

from aex_models.audiences import Audience
from aex_runtime.clock import WallClock
from aex_runtime.identity.local_key import load_or_create_key
from aex_runtime.identity.tokens import LocalIssuer
from aex_runtime.ids import RandomIds
from tests.benchmarks.harness import BenchRow, BenchSize, FigureUnit, TableRow, alternate
from tests.benchmarks.http_load import request_bytes, send_closed_loop
from tests.benchmarks.processes import Server, serve
from tests.e2e.jobs import plain_work, work_body

AGAINST = "bare FastAPI route, one durable commit"
BAR = 0.6
CONNECTIONS = 16
NO_RATE_LIMIT = {"AEX_RATE_LIMIT_PER_S": "1e6", "AEX_RATE_LIMIT_BURST": "1000000"}
"""A single consumer sends the whole load and must not be refused."""
CASES = (
    ("POST /v1/work, without evaluation data", plain_work(), False),
    ("POST /v1/work, with evaluation data", work_body(), False),
    ("POST /v1/work, with evaluation data and a key", work_body(), True),
)


def measure_publishing(size: BenchSize) -> list[TableRow]:
    """Return two rows per case: by wall clock, and by the server's processor time."""
    with tempfile.TemporaryDirectory(prefix="aex-publishing-") as temporary, ExitStack() as stack:
        folder = Path(temporary)
        token = LocalIssuer(load_or_create_key(folder / ".aex"), WallClock(), RandomIds()).mint(
            "acme", Audience.CONSUMER
        )
        environment = {**NO_RATE_LIMIT, "AEX_DATA_DIR": str(folder / ".aex")}
        service = stack.enter_context(serve(["-m", "aex_work_publisher"], environment, folder / "service.log"))
        (folder / "bare").mkdir()
        bare_command = ["-m", "tests.benchmarks.bare_work"]
        bare = stack.enter_context(serve(bare_command, {"AEX_DATA_DIR": str(folder / "bare")}, folder / "bare.log"))
        runner = stack.enter_context(asyncio.Runner(loop_factory=uvloop.new_event_loop))
        rows: list[TableRow] = []
        for name, body, has_key in CASES:
            sides = [
                _round(service, _requests(body, token, has_key=has_key), size.seconds),
                _round(bare, _requests(body, None, has_key=False), size.seconds),
            ]
            results = runner.run(alternate(sides, size.rounds))
            for index, text, bar in ((0, "", BAR), (1, ": by processor time", None)):
                own, baseline = (statistics.median(each[index] for each in side) for side in results)
                rows.append(BenchRow(f"{name}{text}", AGAINST, own, baseline, bar, FigureUnit.RATE))
        return rows


def _round(server: Server, requests: Iterator[bytes], seconds: float) -> Callable[[], Awaitable[tuple[float, float]]]:
    """Return a side whose result is (requests per second, requests per processor second)."""

    async def run() -> tuple[float, float]:
        begin = server.cpu_s()
        responses, duration = await send_closed_loop(server.port, requests, CONNECTIONS, seconds, 201)
        return responses / duration, responses / (server.cpu_s() - begin)

    return run


def _requests(body: dict[str, Any], token: str | None, *, has_key: bool) -> Iterator[bytes]:
    content = json.dumps(body).encode()
    for number in count():
        yield request_bytes("POST", "/v1/work", token, content, f"key-{number}" if has_key else None)
