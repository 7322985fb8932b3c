"""Report for people: a table of the runs, and for each broken promise how to reproduce it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.simulation.runs.running import Broken, RunResult

_WIDTH = 46


@dataclass(slots=True)
class Totals:
    """The sums over many runs."""

    seeds: int = 0
    steps: int = 0
    cpu_s: float = 0.0
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, result: RunResult) -> None:
        """Add a run."""
        self.seeds += 1
        self.steps += len(result.plan.steps)
        self.cpu_s += result.cpu_s
        self.counts.update(result.counts)


def format_table(totals: Totals, wall_s: float, jobs: int) -> str:
    """Return a table of seeds, time and counted events, by group."""
    per_seed = totals.cpu_s / max(totals.seeds, 1)
    head = [
        ("seeds", f"{totals.seeds:,}"),
        ("steps", f"{totals.steps:,}"),
        ("CPU seconds a seed", f"{per_seed:.3f}"),
        (f"seconds, {jobs} processes", f"{wall_s:.1f}"),
    ]
    groups: dict[str, list[tuple[str, str]]] = {}
    for (group, name), number in sorted(totals.counts.items()):
        groups.setdefault(group, []).append((name, f"{number:,}"))
    lines = [_row("run", head[0]), *(_row("", each) for each in head[1:])]
    for group, rows in groups.items():
        lines.extend(_row("" if location else group, each) for location, each in enumerate(rows))
    return "\n".join(lines)


def describe_failure(result: RunResult, broken: Broken, smaller: RunResult, rerun_arguments: Sequence[str]) -> str:
    """Return the promise, the seed, the smallest plan, and the arguments to run either."""
    last = smaller.broken or broken
    return "\n".join(
        [
            f"BROKEN: {broken.promise} (seed {result.plan.seed})",
            f"  {last.detail}",
            *(f"  {line}" for line in last.where.rstrip().splitlines()),
            f"  {len(smaller.plan.steps)} of {len(result.plan.steps)} steps are enough; what happens in them:",
            *(f"    {line}" for line in smaller.trace),
            "  the plan:",
            *(f"    {line}" for line in smaller.plan.to_json().rstrip().splitlines()),
            *(f"  again: make simulate {arguments}" for arguments in rerun_arguments),
        ]
    )


def _row(group: str, row: tuple[str, str]) -> str:
    name, number = row
    return f"{group:<12}{name:<{_WIDTH}}{number:>14}"
