"""The harness marks a row below its bar as NO, and counts rounds, responses and contracts correctly."""

import asyncio
import math
from contextlib import suppress
from itertools import repeat

import pytest

from tests.benchmarks.harness import BenchRow, Fact, FigureUnit, TableRow, alternate, format_table
from tests.benchmarks.http_load import request_bytes, send_closed_loop
from tests.benchmarks.load.figures import LoadRow, LoopResult, percentiles, speed_table
from tests.benchmarks.load.parties import ContractRun
from tests.benchmarks.load.processor import ProcessorTimes


@pytest.mark.parametrize(
    ("unit", "own", "baseline", "bar", "cells"),
    [
        (FigureUnit.OPERATIONS, 20_000, 8, 2_500, "50 us 125.00 ms 2500x ≥ 2500x yes"),
        (FigureUnit.OPERATIONS, 299, 3, 100, "3.34 ms 333.33 ms 99.67x ≥ 100x NO"),
        (FigureUnit.RATE, 600, 1_000, 0.6, "600/s 1,000/s 0.60x ≥ 0.6x yes"),
        (FigureUnit.RATE, 599, 1_000, 0.6, "599/s 1,000/s 0.60x ≥ 0.6x NO"),
        (FigureUnit.SECONDS, 1.5, 0.5, 3.0, "1.50 s 500.00 ms 3.00x ≤ 3x yes"),
        (FigureUnit.SECONDS, 1.51, 0.5, 3.0, "1.51 s 500.00 ms 3.02x ≤ 3x NO"),
        (FigureUnit.SECONDS, 5.0, 0.5, None, "5.00 s 500.00 ms 10.00x"),
    ],
)
def test_bar_is_a_minimum_of_rates_and_a_maximum_of_seconds(
    unit: FigureUnit, own: float, baseline: float, bar: float | None, cells: str
) -> None:
    rows: list[TableRow] = [BenchRow("row", "library", own, baseline, bar, unit), Fact("fact", "none", "found", False)]
    _, row, fact = format_table(rows).splitlines()
    assert " ".join(row.split()) == f"row library {cells}"
    assert fact.split() == ["fact", "none", "found", "NO"]


async def test_sides_alternate_after_an_uncounted_round() -> None:
    calls: list[str] = []

    async def own() -> int:
        calls.append("a")
        return len(calls)

    async def baseline() -> int:
        calls.append("b")
        return len(calls)

    assert await alternate([own, baseline], 3) == [[3, 6, 7], [4, 5, 8]]
    assert "".join(calls) == "baabbaab"


@pytest.mark.parametrize("status", [201, 429])
async def test_closed_loop_counts_responses_and_refuses_other_statuses(status: int) -> None:
    served, handlers = 0, list[asyncio.Task[None] | None]()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal served
        handlers.append(asyncio.current_task())
        with suppress(ConnectionError):  # the client closes when a status is wrong
            while head := await reader.read(10_000):
                served += 1
                assert b"\r\nIdempotency-Key: k\r\n" in head
                writer.write(f"HTTP/1.1 {status} X\r\ncontent-length: 2\r\n\r\n{{".encode())
                await asyncio.sleep(0.001)  # the response comes in two parts
                writer.write(b"}")
            writer.close()
            await writer.wait_closed()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    loop = send_closed_loop(port, repeat(request_bytes("POST", "/", key="k")), 4, 0.2, 201)
    if status == 201:
        responses, seconds = await loop
        assert responses == served > 4
        assert seconds >= 0.2
    else:
        with pytest.raises(AssertionError, match="429"):
            await loop
    server.close()
    await asyncio.gather(*filter(None, handlers))


def test_load_counts_all_contracts_and_leaves_the_first_fifth_out_of_times() -> None:
    runs = [
        ContractRun(
            number=number,
            begun=100.0 + number,
            contract_id=f"ctr_{number}",
            work_s=0.01 if number else 50.0,
            verdicts_s=[0.2],
            posted=100.5 + number,
            settled=101.0 + number,
        )
        for number in range(10)
    ]
    failed = ContractRun(number=10, begun=104.5, contract_id="ctr_10", retries=["POST: 503"], error="not settled")
    loop = LoopResult((*runs, failed), ProcessorTimes({"settlement": 1.0}, 2.0, 4.0))
    rows = [LoadRow("embedded", replicas, "at half", (loop,)) for replicas in (1, 2)]
    cells = speed_table(rows).splitlines()[-1].split()
    assert cells[:5] == ["embedded", "2", "at", "half", "1.0"]
    assert cells[5:14] == ["200"] * 3 + ["500"] * 3 + ["10"] * 3
    assert cells[14:] == ["11", "10", "1", "1", "1.00"]
    assert percentiles([float(value) for value in range(100, 0, -1)]) == (50_000, 95_000, 99_000)
    assert all(map(math.isnan, percentiles([])))
