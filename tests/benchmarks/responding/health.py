"""Whether metric code delays the event loop: `/healthz` of verification while it verifies, and while it does not."""

import asyncio
import json
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from itertools import repeat

from aex_models.audiences import Audience
from tests.benchmarks.bars import Row, Unit
from tests.benchmarks.http_load import Connection, drive, request
from tests.benchmarks.size import Size
from tests.e2e.live import Live, clean_environment
from tests.e2e.parties import caller
from tests.libs.cli.suites import ROOT
from tests.libs.outcomes.kernels.texts import prose

Beside = Callable[[], Awaitable[None]]
"""What goes on while `/healthz` is asked."""
TOKENS = 4_000
EVERY_S = 0.01
BAR = 1.5
"""Of a figure below a millisecond, on a machine whose processors the verification shares."""
CRITERIA = [
    {"metric": name, "metric_type": kind, "comparison": "gte", "threshold": 0.4}
    for name, kind in (("rougeL", "rouge_score"), ("rouge2", "rouge_score"), ("bleu_score", "bleu_score"))
]


async def measure(live: Live, size: Size) -> list[Row]:
    """The p95 of `/healthz`, rounds in turns: one candidate after another under verification; none; and the same work
    in a process that is no part of the suite, which is what sharing the machine alone costs."""
    port = live.running.port + 1
    token = caller(live, Audience.CONSUMER, "acme").token
    body = live.data_dir.parent / "body.json"
    body.write_bytes(_body())
    verifying = request("POST", "/v1/verify", token, body.read_bytes())

    async def verify() -> None:
        await drive(port, repeat(verifying), 1, size.seconds, 200)

    async def rest() -> None:
        await asyncio.sleep(size.seconds)

    async def beside() -> None:
        stranger = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.benchmarks.responding.burn", str(body), cwd=ROOT, env=clean_environment()
        )
        await asyncio.sleep(size.seconds)
        stranger.kill()
        await stranger.wait()

    found: dict[Beside, list[float]] = {verify: [], rest: [], beside: []}
    for number in range(size.rounds + 1):
        for each in found if number % 2 else reversed(found):
            p95 = await _p95(port, each)
            if number:
                found[each].append(p95)
    busy, quiet, shared = (statistics.median(each) for each in found.values())
    name = f"p95 of /healthz, {TOKENS:,} tokens under verification"
    return [
        Row(name, "none under verification", busy, quiet, BAR, Unit.SECONDS),
        Row(name, "the same work in a stranger's process", busy, shared, None, Unit.SECONDS),
    ]


def _body() -> bytes:
    output, reference = ({"text": prose(seed, TOKENS)} for seed in (1, 2))
    body = {
        "success_criteria": {"criteria": CRITERIA},
        "input": {},
        "evaluation": {"reference": reference["text"]},
        "output": output,
    }
    return json.dumps(body).encode()


async def _p95(port: int, beside: Beside) -> float:
    """Of the answers' times while `beside` runs."""
    line, asked = await Connection.open(port), request("GET", "/healthz")
    running, seconds = asyncio.ensure_future(beside()), list[float]()
    while not running.done():
        begin = time.perf_counter()
        answer = await line.send(asked)
        seconds.append(time.perf_counter() - begin)
        if answer.status != 200:
            raise AssertionError(f"/healthz answers {answer.status}")
        await asyncio.sleep(EVERY_S)
    line.close()
    await running
    return statistics.quantiles(seconds, n=20)[-1]
