"""Rates and percentiles of a load, and their tables."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from tests.benchmarks.load.parties import ContractRun
from tests.benchmarks.load.processor import ProcessorTimes

WARM_UP = 0.2
"""The share of the first contracts that percentiles and rates leave out."""
Percentiles = tuple[float, float, float]
"""p50, p95 and p99 in milliseconds, `nan` without values."""


@dataclass(frozen=True, slots=True)
class LoopResult:
    """The result of a closed or open loop."""

    runs: tuple[ContractRun, ...]
    """At least two."""
    spent: ProcessorTimes

    @property
    def steady(self) -> list[ContractRun]:
        return sorted(self.runs, key=lambda run: run.begun)[int(len(self.runs) * WARM_UP) :]

    @property
    def per_s(self) -> float:
        """Contracts settled per second between the starts of the first and the last steady contract."""
        begin, end = self.steady[0].begun, self.steady[-1].begun
        settled = sum(run.settled is not None and begin < run.settled <= end for run in self.runs)
        return settled / (end - begin) if end > begin else math.nan


@dataclass(frozen=True, slots=True)
class LoadRow:
    """The loop of a backend with so many replicas, in all rounds."""

    backend: str
    replicas: int
    loop: str
    rounds: tuple[LoopResult, ...]

    @property
    def per_s(self) -> float:
        return median(each.per_s for each in self.rounds)

    def percentiles(self, seconds: Callable[[ContractRun], Sequence[float]]) -> list[float]:
        """Return the medians over the rounds."""
        rounds = [percentiles([value for run in each.steady for value in seconds(run)]) for each in self.rounds]
        return [median(values) for values in zip(*rounds, strict=True)]

    def count(self, matches: Callable[[ContractRun], int]) -> int:
        """Return a sum over all contracts."""
        return sum(matches(run) for each in self.rounds for run in each.runs)


def percentiles(seconds: Sequence[float]) -> Percentiles:
    """Return the smallest values that 50, 95 and 99 percent do not exceed."""
    ordered = sorted(seconds)
    p50, p95, p99 = (
        ordered[math.ceil(share * len(ordered)) - 1] * 1e3 if ordered else math.nan for share in (0.50, 0.95, 0.99)
    )
    return p50, p95, p99


def _verdict_seconds(run: ContractRun) -> list[float]:
    return run.verdicts_s


def _settlement_seconds(run: ContractRun) -> list[float]:
    return [] if run.settled is None or run.posted is None else [run.settled - run.posted]


def _work_seconds(run: ContractRun) -> list[float]:
    return [] if run.work_s is None else [run.work_s]


def speed_table(rows: Sequence[LoadRow]) -> str:
    """Return a line per row: times in ms, and the rate relative to one replica."""
    single = {(row.backend, row.loop): row.per_s for row in rows if row.replicas == 1}
    lines = [
        f"{'':40}  {'posted → verdict':^20}  {'posted → settled':^20}  {'POST /v1/work':^20}",
        f"{'backend':10}{'replicas':>9}{'loop':>12}{'per s':>7}"
        + f"  {'p50':>6}{'p95':>7}{'p99':>7}" * 3
        + f"  {'accepted':>9}{'settled':>9}{'errors':>8}{'retries':>9}{'× one':>8}",
    ]
    for row in rows:
        line = f"{row.backend:10}{row.replicas:>9}{row.loop:>12}{row.per_s:>7.1f}"
        for seconds in (_verdict_seconds, _settlement_seconds, _work_seconds):
            p50, p95, p99 = row.percentiles(seconds)
            line += f"  {p50:>6.0f}{p95:>7.0f}{p99:>7.0f}"
        accepted = row.count(lambda run: run.contract_id is not None)
        settled, errors = row.count(lambda run: run.settled is not None), row.count(lambda run: run.error is not None)
        ratio = row.per_s / single.get((row.backend, row.loop), math.nan)
        lines.append(
            f"{line}  {accepted:>9}{settled:>9}{errors:>8}{row.count(lambda run: len(run.retries)):>9}"
            f"{'–' if math.isnan(ratio) else f'{ratio:.2f}':>8}"
        )
    return "\n".join(lines)


def processor_table(rows: Sequence[LoadRow]) -> str:
    """Return processor milliseconds per contract, by process, and the load of the machine."""
    names = list(dict.fromkeys(name for row in rows for each in row.rounds for name in each.spent.by_name))
    heads = (*names, "all", "busy", "others")
    lines = [f"{'processor ms per contract':26}  " + "  ".join(heads)]
    for row in rows:
        spent, contracts = [each.spent for each in row.rounds], row.count(lambda run: run.settled is not None)
        cells = [1e3 * sum(each.by_name.get(name, 0) for each in spent) / max(contracts, 1) for name in names]
        own = sum(each.our_share for each in spent) / len(spent)
        others = sum(each.machine / each.clock for each in spent) / len(spent) - own
        texts = [*(f"{cell:.1f}" for cell in (*cells, sum(cells))), f"{own:.0%}", f"{max(others, 0):.0%}"]
        label = f"{row.backend}, {row.replicas}, {row.loop}"
        lines.append(f"{label:26}  " + "  ".join(f"{t:>{len(h)}}" for t, h in zip(texts, heads, strict=True)))
    return "\n".join(lines)
