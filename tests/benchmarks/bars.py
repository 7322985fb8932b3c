"""Comparisons with the ratio that each has to reach: the rows of the speed table."""

from collections.abc import Sequence
from dataclasses import dataclass

from tests.benchmarks.sides import Comparison


@dataclass(frozen=True, slots=True)
class Row:
    """One comparison, what ours was measured against, and how many times as fast it has to be."""

    measured: Comparison
    against: str
    bar: float

    @property
    def speedup(self) -> float:
        """How many times as fast ours is."""
        return self.measured.ours / self.measured.raw

    @property
    def met(self) -> bool:
        """Whether the bar is reached."""
        return self.speedup >= self.bar


def table(rows: Sequence[Row]) -> str:
    """What was measured, a line each. Times are of one operation."""
    what, against = (max(map(len, texts)) for texts in ([r.measured.name for r in rows], [r.against for r in rows]))
    lines = [
        f"{'':{what}}  {'against':{against}}  {'ours':>9}  {'theirs':>9}  {'ratio':>7}  {'bar':>5}  met   (medians)"
    ]
    lines += [
        f"{row.measured.name:{what}}  {row.against:{against}}  {_time(row.measured.ours):>9}  "
        f"{_time(row.measured.raw):>9}  {row.speedup:6.1f}x  {row.bar:4.0f}x  {'yes' if row.met else 'NO'}"
        for row in rows
    ]
    return "\n".join(lines)


def _time(rate: float) -> str:
    return f"{1e6 / rate:.0f} us" if rate > 1_000 else f"{1e3 / rate:.1f} ms"
