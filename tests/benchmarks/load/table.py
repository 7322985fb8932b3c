"""Both tables for people: how fast, and where the processor's time went."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tests.benchmarks.load.figures import Figures, Percentiles
from tests.benchmarks.load.processor import Spent
from tests.benchmarks.load.runs import Loaded


@dataclass(frozen=True, slots=True)
class Row:
    """One loop of one backend with so many replicas, in all its rounds."""

    backend: str
    replicas: int
    rounds: tuple[Loaded, ...]
    loop: str
    """As in `24 at once`, or `half`."""

    @property
    def figures(self) -> Figures:
        """Of the median round."""
        return Figures.middle([each.figures for each in self.rounds])


def speed_table(rows: Sequence[Row]) -> str:
    """A line each: times in ms, the rate beside that of one replica where that was measured."""
    first = {(row.backend, row.loop): row.figures.per_s for row in rows if row.replicas == 1}
    lines = [
        f"{'':40}  {'posted → verdict':^20}  {'posted → settled':^20}  {'POST /v1/work':^20}",
        f"{'backend':10}{'replicas':>9}{'loop':>12}{'per s':>7}"
        + f"  {'p50':>6}{'p95':>7}{'p99':>7}" * 3
        + f"  {'accepted':>9}{'settled':>9}{'errors':>8}{'again':>7}{'× one':>8}",
    ]
    for row in rows:
        found = row.figures
        times = found.per_s / first.get((row.backend, row.loop), math.nan)
        lines.append(
            f"{row.backend:10}{row.replicas:>9}{row.loop:>12}{found.per_s:>7.1f}"
            + "".join(_percentiles(each) for each in (found.verdict, found.settled, found.work))
            + f"  {found.accepted:>9}{found.ended:>9}{found.errors:>8}{found.asked_again:>7}{_or_dash(times):>8}"
        )
    return "\n".join(lines)


def processor_table(rows: Sequence[Row]) -> str:
    """Milliseconds of the processor for each contract, by whose they are; and how busy the machine was."""
    names = list(dict.fromkeys(name for row in rows for each in row.rounds for name in each.spent.ours))
    labels = [f"{row.backend}, {row.replicas}, {row.loop}" for row in rows]
    width = max(len(text) for text in (*labels, "processor ms a contract"))
    lines = [f"{'processor ms a contract':{width}}  " + "  ".join((*names, "all", "busy", "others"))]
    for label, row in zip(labels, rows, strict=True):
        spent, contracts = [each.spent for each in row.rounds], sum(each.figures.ended for each in row.rounds)
        cells = [_each(spent, name, contracts) for name in names]
        cells += [sum(cells), *(100 * sum(shares) / len(spent) for shares in _shares(spent))]
        texts = [f"{cell:.1f}" for cell in cells[:-2]] + [f"{cell:.0f}%" for cell in cells[-2:]]
        heads = (*names, "all", "busy", "others")
        lines.append(f"{label:{width}}  " + "  ".join(f"{t:>{len(h)}}" for t, h in zip(texts, heads, strict=True)))
    return "\n".join(lines)


def _percentiles(found: Percentiles) -> str:
    return f"  {found.p50:>6.0f}{found.p95:>7.0f}{found.p99:>7.0f}"


def _or_dash(times: float) -> str:
    return "–" if math.isnan(times) else f"{times:.2f}"


def _each(spent: Sequence[Spent], name: str, contracts: int) -> float:
    return 1e3 * sum(each.ours.get(name, 0.0) for each in spent) / max(contracts, 1)


def _shares(spent: Sequence[Spent]) -> tuple[list[float], list[float]]:
    return [each.our_share for each in spent], [each.their_share for each in spent]
