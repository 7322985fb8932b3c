"""From an output that is posted to its settlement, embedded, at half of the load that the suite can take.

Beside the raw commits and bus hops that this needs (`chain.py`), at the same load, in turns.
"""

import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import uvloop

from aex_runtime.store.keys import key_of
from aex_settlement.repository.settlements import SETTLEMENTS as SETTLED
from tests.benchmarks.bars import Row, Unit
from tests.benchmarks.http_load import Connection, paced, request
from tests.benchmarks.publishing.bench import UNLIMITED
from tests.benchmarks.settling.chain import SETTLEMENTS, Chain
from tests.benchmarks.settling.watching import Watch
from tests.benchmarks.size import Size
from tests.e2e.jobs import GOOD, candidate, work_body
from tests.e2e.live import Live, clean_environment, live_suite
from tests.e2e.parties import Parties, parties_of
from tests.libs.cli.suites import ROOT

BAR = 3.0
AGAINST = "raw commits and bus hops"
IN_FLIGHT = 16
MEASURED_FIRST = 150
"""Contracts, by which the load that the suite can take is found."""
PATIENCE_S = 60.0
Post = Callable[[str], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Suite:
    """The suite, the parties, and connections to its services."""

    live: Live
    parties: Parties
    publisher: Sequence[Connection]
    verification: Sequence[Connection]

    @classmethod
    async def open(cls, live: Live) -> "Suite":
        """Connect: to work-publisher, and to verification, which comes next to it."""
        lines = [[await Connection.open(live.running.port + place) for _ in range(IN_FLIGHT)] for place in (0, 1)]
        return cls(live, parties_of(live), *lines)

    async def contracts(self, wanted: int) -> list[str]:
        """So many that verification knows of and nobody has delivered to."""
        left = iter(range(wanted))
        made = await asyncio.gather(*(self._make(line, left) for line in self.publisher))
        ids = [contract_id for some in made for contract_id in some]
        for contract_id in ids:  # they are admitted by events; whoever comes before them reads through
            path = f"/v1/contracts/{contract_id}"
            await _good(self.verification[0], request("GET", path, self.parties.agent.token))
        return ids

    async def _make(self, line: Connection, left: Iterator[int]) -> list[str]:
        made = []
        for _ in left:
            work = await _good(line, _posting("/v1/work", self.parties.consumer.token, work_body()))
            terms = {"agent_id": self.parties.agent.id, "cpc_rate": "0.40"}
            path = f"/v1/work/{work['work_id']}/award"
            award = await _good(line, _posting(path, self.parties.consumer.token, terms))
            made.append(str(award["contract_id"]))
        return made

    async def post(self, contract_id: str, free: "asyncio.Queue[Connection]") -> None:
        """Post the candidate over a connection that nobody else uses meanwhile."""
        line = await free.get()
        path = f"/v1/contracts/{contract_id}/outputs"
        await _good(line, _posting(path, self.parties.agent.token, candidate(GOOD)))
        free.put_nowait(line)


def _posting(path: str, token: str, body: dict[str, Any]) -> bytes:
    return request("POST", path, token, json.dumps(body).encode())


async def _good(line: Connection, raw: bytes) -> dict[str, Any]:
    answer = await line.send(raw)
    if not 200 <= answer.status < 300:
        raise AssertionError(f"{answer.status}: {answer.body[:500]!r}")
    return dict(json.loads(answer.body))


async def measure(live: Live, folder: Path, size: Size) -> list[Row]:
    """The p95 and, for the sake of comparison, the median; rounds in turns."""
    suite, ours, raw = await Suite.open(live), list[list[float]](), list[list[float]]()
    free: asyncio.Queue[Connection] = asyncio.Queue()
    for line in suite.verification:
        free.put_nowait(line)

    async def post(contract_id: str) -> None:
        await suite.post(contract_id, free)

    store = live.data_dir / "settlement" / "store.sqlite3"
    numbers = count()
    with Watch(store, SETTLED.collection.name) as settled, _settlement(folder) as bare:
        async with Chain(folder).running() as chain:
            per_s = await _most(suite, post, settled) / 2
            of_a_round = max(20, round(per_s * size.seconds))
            for number in range(size.rounds + 1):
                ids = await suite.contracts(of_a_round)
                for each in (0, 1) if number % 2 else (1, 0):
                    if each == 0:
                        found = await _round(ids, per_s, post, settled, key_of)
                        ours += [found] if number else []
                    else:
                        keys = [f"raw-{next(numbers)}" for _ in range(of_a_round)]
                        found = await _round(keys, per_s, chain.post, bare, str)
                        raw += [found] if number else []
    name = f"posted → settled, {per_s:.0f}/s (half load)"

    def of_all(part: Callable[[Sequence[float]], float]) -> tuple[float, float]:
        return statistics.median(map(part, ours)), statistics.median(map(part, raw))

    return [
        Row(f"{name}: p95", AGAINST, *of_all(_p95), BAR, Unit.SECONDS),
        Row(f"{name}: p50", AGAINST, *of_all(_p50), None, Unit.SECONDS),
    ]


async def _most(suite: Suite, post: Post, settled: Watch) -> float:
    """Contracts a second that the suite settles with `IN_FLIGHT` under way at any time."""
    ids = await suite.contracts(MEASURED_FIRST)
    left = iter(ids)
    begin = time.perf_counter()

    async def work() -> None:
        for contract_id in left:
            await post(contract_id)
            await settled.until({key_of(contract_id)}, PATIENCE_S)

    await asyncio.gather(*(work() for _ in range(IN_FLIGHT)))
    return len(ids) / (time.perf_counter() - begin)


async def _round(
    ids: Sequence[str], per_s: float, post: Post, settled: Watch, key: Callable[[str], str]
) -> list[float]:
    """Seconds from post to settlement of each, posted at an even pace."""
    posted: dict[str, float] = {}
    left = iter(ids)

    async def send() -> None:
        contract_id = next(left)
        posted[key(contract_id)] = time.perf_counter()
        await post(contract_id)

    await paced((number / per_s for number in range(len(ids))), send)
    await settled.until(set(posted), PATIENCE_S)
    return [settled.seen[each] - at for each, at in posted.items()]


def _p95(seconds: Sequence[float]) -> float:
    return statistics.quantiles(seconds, n=20)[-1]


def _p50(seconds: Sequence[float]) -> float:
    return statistics.median(seconds)


@contextmanager
def _settlement(folder: Path) -> Iterator[Watch]:
    """The process in settlement's place, and a watch on what it commits."""
    command = [sys.executable, "-m", "tests.benchmarks.settling.chain", str(folder)]
    with subprocess.Popen(command, cwd=ROOT, env=clean_environment(), stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            if process.stdout.readline() != b"ready\n":
                raise RuntimeError("the process in settlement's place did not start")
            with Watch(folder / "settlement.sqlite3", SETTLEMENTS) as watch:
                yield watch
        finally:
            process.kill()


def rows(size: Size) -> list[Row]:
    """Over a suite of its own."""
    with tempfile.TemporaryDirectory(prefix="aex-settling-") as place:
        bare = Path(place) / "bare"
        bare.mkdir()
        with (
            live_suite(Path(place) / ".aex", environment=UNLIMITED) as live,
            asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
        ):
            return runner.run(measure(live, bare, size))
