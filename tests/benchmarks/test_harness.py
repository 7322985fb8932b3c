"""The harness marks a row below its bar as NO, and alternates the sides."""

import pytest

from tests.benchmarks.harness import BenchRow, Fact, FigureUnit, TableRow, alternate, format_table


@pytest.mark.parametrize(
    ("unit", "own", "baseline", "bar", "cells"),
    [
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
