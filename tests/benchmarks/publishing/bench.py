"""`POST /v1/work` beside a bare FastAPI route with the same model and one durable commit to the same store."""

import asyncio
import json
import statistics
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import count, repeat
from pathlib import Path
from typing import Any

import uvloop

from aex_models.audiences import Audience
from aex_runtime.clock import WallClock
from aex_runtime.identity.local_issuer import LocalIssuer
from aex_runtime.identity.local_key import local_key
from aex_runtime.ids import RandomIds
from tests.benchmarks.bars import Row, Unit
from tests.benchmarks.http_load import drive, request
from tests.benchmarks.processes import Running, running
from tests.benchmarks.size import Size
from tests.e2e.jobs import plain_work, work_body

PATH, CREATED = "/v1/work", 201
AGAINST = "bare FastAPI route, one durable commit"
BAR = 0.6
CONNECTIONS = 16
UNLIMITED = {"AEX_RATE_LIMIT_PER_S": "1e6", "AEX_RATE_LIMIT_BURST": "1000000"}
"""One consumer alone sends more than any is allowed: counted all the same."""


@dataclass
class Side:
    """A server, what it is sent, and what it did: requests a second, of the clock and of its processor."""

    server: Running
    raw: Iterator[bytes]
    per_s: list[float] = field(default_factory=list)
    per_cpu_s: list[float] = field(default_factory=list)

    async def run(self, seconds: float, *, counts: bool) -> None:
        """A round."""
        before = self.server.cpu_s()
        driven = await drive(self.server.port, self.raw, CONNECTIONS, seconds, CREATED)
        if counts:
            self.per_s.append(driven.per_s)
            self.per_cpu_s.append(len(driven.latencies_s) / (self.server.cpu_s() - before))


async def compare(name: str, ours: Side, bare: Side, size: Size) -> list[Row]:
    """Rounds in turns, after one each that does not count; who begins alternates."""
    for number in range(size.rounds + 1):
        for side in (ours, bare) if number % 2 else (bare, ours):
            await side.run(size.seconds, counts=number > 0)
    clock, processor = (
        (statistics.median(getattr(ours, each)), statistics.median(getattr(bare, each)))
        for each in ("per_s", "per_cpu_s")
    )
    return [
        Row(name, AGAINST, *clock, BAR, Unit.RATE),
        Row(f"{name}: by processor time", AGAINST, *processor, None, Unit.RATE),
    ]


def measure(size: Size) -> list[Row]:
    """A work without secrets, one with evaluation data (a blob of its own), and that one under idempotency keys."""
    with tempfile.TemporaryDirectory(prefix="aex-publishing-") as folder, ExitStack() as stack:
        place = Path(folder)
        data_dir = place / ".aex"
        issuer = LocalIssuer(local_key(data_dir), WallClock(), RandomIds())
        token = issuer.mint("acme", Audience.CONSUMER)
        environment = {**UNLIMITED, "AEX_DATA_DIR": str(data_dir)}
        service = stack.enter_context(running(["-m", "aex_work_publisher"], environment, place / "service.log"))
        (place / "bare").mkdir()
        bare = stack.enter_context(
            running(
                ["-m", "tests.benchmarks.publishing.bare"], {"AEX_DATA_DIR": str(place / "bare")}, place / "bare.log"
            )
        )
        rows: list[Row] = []
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            for name, body, keyed in (
                ("POST /v1/work, without evaluation data", plain_work(), False),
                ("POST /v1/work, with evaluation data", work_body(), False),
                ("POST /v1/work, with evaluation data and a key", work_body(), True),
            ):
                sides = Side(service, _requests(body, token, keyed=keyed)), Side(bare, _requests(body, None))
                rows += runner.run(compare(name, *sides, size))
        return rows


def _requests(body: dict[str, Any], token: str | None, *, keyed: bool = False) -> Iterator[bytes]:
    content = json.dumps(body).encode()
    if not keyed:
        return repeat(request("POST", PATH, token, content))
    return (request("POST", PATH, token, content, Idempotency_Key=f"key-{number}") for number in count())
