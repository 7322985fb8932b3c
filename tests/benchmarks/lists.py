"""Memory of a service that lists large records, and the latency of its `/healthz` meanwhile.

`TOKEN=… python -m tests.benchmarks.lists URL ID_FIELD` reads all pages with every reader and prints their numbers of
items.
"""

import asyncio
import os
import secrets
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psutil
import uvloop

from tests.benchmarks.harness import BenchRow, BenchSize, Fact, FigureUnit, TableRow, p95, print_line
from tests.benchmarks.http_load import KeptConnection, request_bytes
from tests.benchmarks.publishing import NO_RATE_LIMIT
from tests.e2e.jobs import award, deliver, plain_work, until_settled
from tests.e2e.live import FOLDERS, Live, clean_environment, live_suite
from tests.e2e.parties import Caller, Parties, parties_of
from tests.libs.cli.suites import ROOT

RECORDS = 200
ATTEMPTS = 100
"""The most that a contract may have."""
TEXT_BYTES = 2_700_000
READERS = 4
MAX_GROWTH_MB = 60
BAR = 1.5
_MB = 1_000_000
_EVERY_S = 0.01
_WRITERS = 4
_UNRELATED = "governance"
"""A service that answers no list during the measurement."""


@dataclass(frozen=True, slots=True)
class LargeList:
    """A list, its reader and its number of items."""

    service: str
    path: str
    reader: Caller
    id_field: str
    items: int


def measure_lists(size: BenchSize) -> list[TableRow]:
    """Return the rows of four lists in a suite of its own."""
    with (
        tempfile.TemporaryDirectory(prefix="aex-lists-") as folder,
        live_suite(Path(folder) / ".aex", environment=_ENVIRONMENT) as live,
    ):
        lists = _make_lists(parties_of(live))
        return [row for each in lists for row in _measure_list(live, each, size.rounds)]


_ENVIRONMENT = {**NO_RATE_LIMIT, "AEX_QUOTA_BYTES": "0"}


def _make_lists(parties: Parties) -> list[LargeList]:
    with ThreadPoolExecutor(_WRITERS) as writers:
        rejected = writers.submit(_exhaust_contract, parties)
        list(writers.map(lambda _: _settle_large_contract(parties), range(RECORDS)))
    contract_id = rejected.result()
    return [
        LargeList("work-publisher", "/v1/work", parties.consumer, "work_id", RECORDS + 1),
        LargeList("verification", f"/v1/contracts/{contract_id}/attempts", parties.agent, "attempt_id", ATTEMPTS),
        LargeList("verification", "/v1/outcomes", parties.agent, "contract_id", RECORDS + 1),
        LargeList("settlement", "/v1/settlements", parties.finance, "contract_id", RECORDS + 1),
    ]


def _exhaust_contract(parties: Parties) -> str:
    """Deliver `ATTEMPTS` large outputs, which are rejected, and return the id of their settled contract."""
    contract_id = award(parties, _publish(parties, plain_work(verification={"max_attempts": ATTEMPTS})))
    for number in range(ATTEMPTS):
        deliver(parties, contract_id, "", output=_large_output(f"{number}"))  # one word is too few
    until_settled(parties.finance, contract_id)
    return contract_id


def _settle_large_contract(parties: Parties) -> None:
    terms = ["alpha", *(f"{number:03}-{'z' * 340}" for number in range(198))]
    criterion = {"metric": "contains_keywords", "metric_type": "contains", "comparison": "contains_any"}
    criteria = {"criteria": [{**criterion, "threshold": [f"{index}", *terms]} for index in range(8)]}
    contract_id = award(
        parties, _publish(parties, plain_work(success_criteria=criteria, input={"text": "x" * TEXT_BYTES}))
    )
    attempt = deliver(parties, contract_id, "", output=_large_output("alpha"))
    assert attempt["verdict"] == "passed", attempt["feedback"]
    until_settled(parties.finance, contract_id)


def _large_output(text: str) -> dict[str, str]:
    return {"text": text, "attachment": secrets.token_hex(TEXT_BYTES // 2)}


def _publish(parties: Parties, body: Mapping[str, Any]) -> str:
    response = parties.consumer.post("work-publisher", "/v1/work", body)
    assert response.status_code == 201, response.text
    return str(response.json()["work_id"])


def _measure_list(live: Live, listed: LargeList, rounds: int) -> list[TableRow]:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_compare_health(live, listed, rounds))


async def _compare_health(live: Live, listed: LargeList, rounds: int) -> list[TableRow]:
    process, idle = live.process(listed.service), list[float]()
    before, growth = process.memory_info().rss, 0
    own, unrelated = list[float](), list[float]()
    for _ in range(rounds):
        idle += await _watch_health(live, [listed.service], asyncio.ensure_future(asyncio.sleep(1)))
        reading = asyncio.ensure_future(_read_by_all(live, listed))
        memory = asyncio.ensure_future(_peak_memory(process, reading))
        latencies = await _watch_health(live, [listed.service, _UNRELATED], reading)
        own.append(latencies[0])
        unrelated.append(latencies[1])
        growth = max(growth, await memory - before)
    name = f"{listed.path.rpartition('/')[2]}: {READERS} readers of {listed.items} large records"
    latency = f"p95 of /healthz, {name}"
    p95s = [statistics.median(each) for each in (own, unrelated, idle)]
    return [
        Fact(f"memory, {name}", f"{MAX_GROWTH_MB} MB", f"{growth / _MB:.0f} MB", growth <= MAX_GROWTH_MB * _MB),
        BenchRow(latency, "an unrelated service meanwhile", p95s[0], p95s[1], BAR, FigureUnit.SECONDS),
        BenchRow(latency, "no readers", p95s[0], p95s[2], None, FigureUnit.SECONDS),
    ]


async def _watch_health(live: Live, services: Sequence[str], until: asyncio.Future[None]) -> list[float]:
    """Return each service's p95 in seconds; the services are asked in turn until the future is done."""
    connections = [await KeptConnection.open(_port(live, service)) for service in services]
    request, seconds = request_bytes("GET", "/healthz"), [list[float]() for _ in services]
    while not until.done():
        for connection, values in zip(connections, seconds, strict=True):
            begin = time.perf_counter()
            response = await connection.send(request)
            values.append(time.perf_counter() - begin)
            assert response.status == 200, f"/healthz returned {response.status}"
        await asyncio.sleep(_EVERY_S)
    for connection in connections:
        connection.close()
    await until
    return [p95(values) for values in seconds]


async def _peak_memory(process: psutil.Process, until: asyncio.Future[None]) -> int:
    peak = 0
    while not until.done():
        peak = max(peak, process.memory_info().rss)
        await asyncio.sleep(_EVERY_S)
    return peak


async def _read_by_all(live: Live, listed: LargeList) -> None:
    """Read the list with every reader, in another process.

    Raises `RuntimeError` when a reader misses an item.
    """
    url = f"http://127.0.0.1:{_port(live, listed.service)}{listed.path}"
    command = [sys.executable, "-m", "tests.benchmarks.lists", url, listed.id_field]
    process = await asyncio.create_subprocess_exec(
        *command, cwd=ROOT, env=clean_environment({"TOKEN": listed.reader.token}), stdout=asyncio.subprocess.PIPE
    )
    output, _ = await process.communicate()
    counts = {int(each) for each in output.split()}
    if process.returncode or counts != {listed.items}:
        raise RuntimeError(f"{listed.path}: expected {listed.items} items for each reader, got {sorted(counts)}")


def _port(live: Live, service: str) -> int:
    return live.running.port + FOLDERS[service]


def _count_items(url: str, id_field: str, token: str) -> int:
    """Return the number of items on all pages. Raises `RuntimeError` for an item that comes twice."""
    ids, cursor = set[str](), None
    with httpx.Client(headers={"Authorization": f"Bearer {token}"}, timeout=60, trust_env=False) as client:
        while True:
            response = client.get(url, params={"limit": 100} | ({"cursor": cursor} if cursor else {}))
            page = response.raise_for_status().json()
            for item in page["items"]:
                if item[id_field] in ids:
                    raise RuntimeError(f"{item[id_field]} came twice")
                ids.add(item[id_field])
            if not (cursor := page["next_cursor"]):
                return len(ids)


if __name__ == "__main__":
    _, list_url, name = sys.argv
    with ThreadPoolExecutor(READERS) as readers:
        for count in readers.map(lambda _: _count_items(list_url, name, os.environ["TOKEN"]), range(READERS)):
            print_line(str(count))
