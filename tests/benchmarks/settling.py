"""Time from a posted output to its settlement, embedded, at half of the suite's highest load.

It is measured beside the raw commits and bus hops of `chain.py` at the same load.
"""

import asyncio
import json
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path

import uvloop

from aex_runtime.store.port import key_of
from aex_settlement.repository.ledger import SETTLEMENTS as SETTLED
from tests.benchmarks.chain import SETTLEMENTS, run_chain
from tests.benchmarks.harness import BenchRow, BenchSize, FigureUnit, TableRow, alternate, p95
from tests.benchmarks.http_load import KeptConnection, request_bytes, send_open_loop
from tests.benchmarks.publishing import NO_RATE_LIMIT
from tests.e2e.jobs import GOOD, candidate, contract
from tests.e2e.live import Live, clean_environment, live_suite
from tests.e2e.parties import Parties, parties_of
from tests.libs.cli.suites import ROOT

BAR = 3.0
AGAINST = "raw commits and bus hops"
CONNECTIONS = 16
CONTRACTS_AT_FULL_LOAD = 150
_SETTLED_S = 60.0
_POLL_S = 0.001
Post = Callable[[str], Awaitable[None]]


class CommitWatch:
    """Times of `time.perf_counter` when the documents of a collection were committed, by key.

    It reads the store's file, so that no service answers requests for it.
    """

    def __init__(self, file: Path, collection: str) -> None:
        self._file, self._collection = file, collection
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._poll, name="watch", daemon=True)
        self.times: dict[str, float] = {}

    def __enter__(self) -> "CommitWatch":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    async def wait_for(self, keys: set[str]) -> None:
        """Wait for all keys. Raises `AssertionError` when some are missing after 60 s."""
        deadline = time.monotonic() + _SETTLED_S
        while missing := keys - self.times.keys():
            assert time.monotonic() < deadline, f"{len(missing)} of {len(keys)} were not settled in {_SETTLED_S:g} s"
            await asyncio.sleep(5 * _POLL_S)

    def _poll(self) -> None:
        with closing(sqlite3.connect(f"file:{self._file}?mode=ro", uri=True, isolation_level=None)) as connection:
            last_id, last_version = 0, None
            while not self._stop.wait(_POLL_S):
                (version,) = connection.execute("PRAGMA data_version").fetchone()
                if version == last_version:
                    continue
                last_version = version
                rows = connection.execute(
                    "SELECT id, key FROM documents WHERE id > ? AND +collection = ? ORDER BY id",
                    (last_id, self._collection),
                ).fetchall()
                now = time.perf_counter()
                self.times.update((key, now) for _, key in rows)
                last_id = rows[-1][0] if rows else last_id


def measure_settling(size: BenchSize) -> list[TableRow]:
    """Return p95 and median, over a suite of its own."""
    with (
        tempfile.TemporaryDirectory(prefix="aex-settling-") as temporary,
        live_suite(Path(temporary) / ".aex", environment=NO_RATE_LIMIT) as live,
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
    ):
        folder = Path(temporary) / "bare"
        folder.mkdir()
        return runner.run(_measure(live, folder, size))


async def _measure(live: Live, folder: Path, size: BenchSize) -> list[TableRow]:
    parties, numbers, idle = parties_of(live), count(), asyncio.Queue[KeptConnection]()
    for _ in range(CONNECTIONS):
        idle.put_nowait(await KeptConnection.open(live.running.port + 1))
    body = json.dumps(candidate(GOOD)).encode()

    async def post(contract_id: str) -> None:
        line = await idle.get()
        path = f"/v1/contracts/{contract_id}/outputs"
        response = await line.send(request_bytes("POST", path, parties.agent.token, body))
        assert 200 <= response.status < 300, f"{response.status}: {response.body[:500]!r}"
        idle.put_nowait(line)

    store = live.data_dir / "settlement" / "store.sqlite3"
    with CommitWatch(store, SETTLED.collection.name) as settled, _run_bare_settlement(folder) as bare:
        async with run_chain(folder) as post_raw:
            per_s = await _highest_rate(parties, post, settled) / 2
            contracts = max(20, round(per_s * size.seconds))

            async def own() -> list[float]:
                contract_ids = await _award_contracts(parties, contracts)
                return await _latencies(contract_ids, per_s, post, settled, key_of)

            async def baseline() -> list[float]:
                keys = [f"raw-{next(numbers)}" for _ in range(contracts)]
                return await _latencies(keys, per_s, post_raw, bare, str)

            results = await alternate([own, baseline], size.rounds)
    rows: list[TableRow] = []
    figures: tuple[tuple[str, Callable[[list[float]], float], float | None], ...]
    figures = (("p95", p95, BAR), ("p50", statistics.median, None))
    for text, figure, bar in figures:
        medians = [statistics.median([figure(each) for each in side]) for side in results]
        name = f"posted → settled, {per_s:.0f}/s (half load): {text}"
        rows.append(BenchRow(name, AGAINST, medians[0], medians[1], bar, FigureUnit.SECONDS))
    return rows


async def _award_contracts(parties: Parties, number: int) -> list[str]:
    """Make contracts that verification has admitted: a read admits one whose event has not arrived."""

    def make_contract(_: int) -> str:
        contract_id = contract(parties)
        parties.agent.read("verification", f"/v1/contracts/{contract_id}")
        return contract_id

    with ThreadPoolExecutor(CONNECTIONS) as pool:
        return await asyncio.to_thread(lambda: list(pool.map(make_contract, range(number))))


async def _highest_rate(parties: Parties, post: Post, settled: CommitWatch) -> float:
    """Return the contracts per second that the suite settles with `CONNECTIONS` of them in progress."""
    contract_ids = await _award_contracts(parties, CONTRACTS_AT_FULL_LOAD)
    left, begin = iter(contract_ids), time.perf_counter()

    async def work() -> None:
        for contract_id in left:
            await post(contract_id)
            await settled.wait_for({key_of(contract_id)})

    await asyncio.gather(*(work() for _ in range(CONNECTIONS)))
    return len(contract_ids) / (time.perf_counter() - begin)


async def _latencies(
    contract_ids: Sequence[str], per_s: float, post: Post, settled: CommitWatch, key: Callable[[str], str]
) -> list[float]:
    """Post at an even pace; return the seconds from post to settlement of each contract."""
    posted: dict[str, float] = {}
    left = iter(contract_ids)

    async def send() -> None:
        contract_id = next(left)
        posted[key(contract_id)] = time.perf_counter()
        await post(contract_id)

    await send_open_loop((number / per_s for number in range(len(contract_ids))), send)
    await settled.wait_for(set(posted))
    return [settled.times[each] - at for each, at in posted.items()]


@contextmanager
def _run_bare_settlement(folder: Path) -> Iterator[CommitWatch]:
    """Run the process that stands for settlement, and watch its commits."""
    command = [sys.executable, "-m", "tests.benchmarks.chain", str(folder)]
    with subprocess.Popen(command, cwd=ROOT, env=clean_environment(), stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n", "the process did not start"
            with CommitWatch(folder / "settlement.sqlite3", SETTLEMENTS) as watch:
                yield watch
        finally:
            process.kill()
