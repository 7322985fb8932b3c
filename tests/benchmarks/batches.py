"""A batch of `POST /v1/verify/batch` beside one request for each of its outputs."""

import asyncio
import json
import random
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import uvloop

from aex_models.audiences import Audience
from aex_models.batch import MAX_OUTPUTS
from aex_runtime.clock import WallClock
from aex_runtime.identity.local_key import load_or_create_key
from aex_runtime.identity.tokens import LocalIssuer
from aex_runtime.ids import RandomIds
from tests.benchmarks.harness import BenchRow, BenchSize, FigureUnit, TableRow, alternate
from tests.benchmarks.http_load import KeptConnection, request_bytes
from tests.benchmarks.processes import HOST, Server, serve
from tests.benchmarks.publishing import CONNECTIONS, NO_RATE_LIMIT

BAR = 2.0
_WORDS, _VOCABULARY = 60, 500
_CRITERIA = [
    {"metric": "rougeL", "metric_type": "rouge_score", "comparison": "gte", "threshold": 0.4},
    {"metric": "bleu_score", "metric_type": "bleu_score", "comparison": "gte", "threshold": 0.2},
    {"metric": "word_count", "metric_type": "count", "comparison": "lte", "threshold": 100},
]
Json = dict[str, Any]


def measure_batches(size: BenchSize) -> list[TableRow]:
    """Return a row for outputs with one reference, and one for outputs that each have their own."""
    with tempfile.TemporaryDirectory(prefix="aex-batches-") as temporary, ExitStack() as stack:
        folder = Path(temporary)
        issuer = LocalIssuer(load_or_create_key(folder / ".aex"), WallClock(), RandomIds())
        token = issuer.mint("acme", Audience.CONSUMER)
        environment = {**NO_RATE_LIMIT, "AEX_DATA_DIR": str(folder / ".aex")}
        service = stack.enter_context(serve(["-m", "aex_verification"], environment, folder / "service.log"))
        runner = stack.enter_context(asyncio.Runner(loop_factory=uvloop.new_event_loop))
        return [
            runner.run(_measure(service, token, size.rounds, name, own_references=own_references))
            for name, own_references in (("one reference", False), ("a reference each", True))
        ]


async def _measure(service: Server, token: str, rounds: int, name: str, *, own_references: bool) -> BenchRow:
    drawn = random.Random(0)
    texts = iter(lambda: _draw_text(drawn), "")
    common: Json = {"success_criteria": {"criteria": _CRITERIA}, "evaluation": {"reference": next(texts)}}

    def draw_outputs() -> list[Json]:
        own = ({"evaluation": {"reference": next(texts)}} if own_references else {} for _ in range(MAX_OUTPUTS))
        return [{"output": {"text": next(texts)}, **each} for each in own]

    await _check_equal(service, token, common, draw_outputs()[:20])
    together, alone = await alternate(
        [
            _with_rate(lambda: _send_batch(service, token, common, draw_outputs())),
            _with_rate(lambda: _send_each(service, token, common, draw_outputs())),
        ],
        rounds,
    )
    rates = statistics.median(together), statistics.median(alone)
    return BenchRow(
        f"batch of {MAX_OUTPUTS:,} outputs, {name}",
        f"{CONNECTIONS} single requests at once",
        *rates,
        BAR,
        FigureUnit.RATE,
    )


def _draw_text(drawn: random.Random) -> str:
    return " ".join(f"word{drawn.randrange(_VOCABULARY)}" for _ in range(_WORDS))


def _with_rate(send: Callable[[], Awaitable[Sequence[Json]]]) -> Callable[[], Awaitable[float]]:
    async def run() -> float:
        begin = time.perf_counter()
        results = await send()
        assert len(results) == MAX_OUTPUTS
        return len(results) / (time.perf_counter() - begin)

    return run


async def _check_equal(service: Server, token: str, common: Json, outputs: list[Json]) -> None:
    together, alone = (
        await _send_batch(service, token, common, outputs),
        await _send_each(service, token, common, outputs),
    )
    for result, other in zip(together, alone, strict=True):
        differing = {name for name in result if result[name] != other[name]} - {"verification_id", "verified_at"}
        assert not differing, f"batch and single request differ in {differing}"


async def _send_batch(service: Server, token: str, common: Json, outputs: list[Json]) -> list[Json]:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/x-ndjson"}
    body = "\n".join(map(json.dumps, [common, *outputs]))
    async with httpx.AsyncClient(timeout=60) as client:
        answer = await client.post(f"http://{HOST}:{service.port}/v1/verify/batch", content=body, headers=headers)
    assert answer.status_code == 200, answer.text[:500]
    *lines, last = map(json.loads, answer.text.splitlines())
    assert "summary" in last
    return [line["result"] for line in lines]


async def _send_each(service: Server, token: str, common: Json, outputs: list[Json]) -> list[Json]:
    results: dict[int, Json] = {}
    left = iter(enumerate(outputs))

    async def work(connection: KeptConnection, numbered: Iterator[tuple[int, Json]]) -> None:
        for number, output in numbered:
            body = json.dumps({**common, **output}).encode()
            answer = await connection.send(request_bytes("POST", "/v1/verify", token, body))
            assert answer.status == 200, answer.body[:500]
            results[number] = json.loads(answer.body)
        connection.close()

    await asyncio.gather(*[work(await KeptConnection.open(service.port), left) for _ in range(CONNECTIONS)])
    return [results[number] for number in range(len(outputs))]
