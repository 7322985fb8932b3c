"""Two ways to do the same, measured side by side: in one process, in turns, so that what slows one slows both."""

import statistics
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

Side = Callable[[], Awaitable[int]]
"""One round: does its work and tells how many operations that were."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Medians over the rounds, in operations a second."""

    name: str
    ours: float
    raw: float

    @property
    def overhead(self) -> float:
        """How many times as long ours takes: the median of the ratios of neighbouring rounds would be no calmer."""
        return self.raw / self.ours


async def compare(name: str, ours: Side, raw: Side, rounds: int) -> Comparison:
    """Run both in turns, after one round each that does not count; who begins alternates."""
    rates: dict[Side, list[float]] = {ours: [], raw: []}
    for number in range(rounds + 1):
        for side in (ours, raw) if number % 2 else (raw, ours):
            before = time.perf_counter()
            done = await side()
            rate = done / (time.perf_counter() - before)
            if number:
                rates[side].append(rate)
    return Comparison(name, statistics.median(rates[ours]), statistics.median(rates[raw]))


def table(comparisons: Sequence[Comparison], unit: str) -> str:
    """What was measured, a line each."""
    width = max(len(each.name) for each in comparisons)
    lines = [f"{'':{width}}  {'ours':>9}  {'raw':>9}  overhead   ({unit}, medians)"]
    lines += [f"{each.name:{width}}  {each.ours:9.0f}  {each.raw:9.0f}  {each.overhead:7.2f}x" for each in comparisons]
    return "\n".join(lines)
