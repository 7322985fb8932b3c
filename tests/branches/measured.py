"""Measured packages, their tests, and their branch coverage."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
LEAST = 0.95
"""The lowest share of each package (spec file 9)."""


@dataclass(frozen=True, slots=True)
class CoveredPart:
    """A package and its own tests in the mirrored tree."""

    package: str
    folder: str
    tests: tuple[str, ...]


def _rules(service: str, *further: str) -> CoveredPart:
    name = service.replace("-", "_")
    folder, tests = f"services/{service}/src/aex_{name}/rules", f"tests/services/{name}"
    return CoveredPart(f"aex_{name}.rules", folder, (f"{tests}/rules", *(f"{tests}/{each}" for each in further)))


_AUDITS = ("impossible_transactions", "lost_journals", "projections", "sums", "tampered_ledgers", "waiting_corrections")
"""The tests of the audit's rules; those of changing ledgers are long and cover handlers."""
PARTS = (
    CoveredPart("aex_outcomes", "libs/aex-outcomes/src/aex_outcomes", ("tests/libs/outcomes",)),
    _rules("governance"),
    _rules("settlement", *(f"audit/test_{each}.py" for each in _AUDITS)),
    CoveredPart("aex_models", "libs/aex-models/src/aex_models", ("tests/libs/models",)),
    _rules("verification"),
    _rules("work-publisher"),
)
"""The slowest come first."""


@dataclass(frozen=True, slots=True)
class BranchFigure:
    """Covered branches of a part, and the missing ones as `file: from→to`; a `to` below 0 is an exit."""

    part: CoveredPart
    covered: int
    branches: int
    missing: tuple[str, ...]

    @property
    def share(self) -> float:
        return self.covered / self.branches if self.branches else 0.0

    @property
    def is_enough(self) -> bool:
        return self.share >= LEAST


def read_figure(report: Path, part: CoveredPart) -> BranchFigure:
    """Return the figure in a JSON report of coverage.py, whose paths are relative to the root."""
    files = json.loads(report.read_text(encoding="utf-8"))["files"]
    inside = {name: each for name, each in files.items() if name.startswith(f"{part.folder}/")}
    covered = sum(each["summary"]["covered_branches"] for each in inside.values())
    branches = sum(each["summary"]["num_branches"] for each in inside.values())
    return BranchFigure(part, covered, branches, tuple(_missing_branches(part, inside)))


def _missing_branches(part: CoveredPart, files: Mapping[str, Any]) -> Iterator[str]:
    for name, each in sorted(files.items()):
        arrows = [f"{start}→{end}" for start, end in each["missing_branches"]]
        if arrows:
            yield f"{name.removeprefix(part.folder + '/')}: {', '.join(arrows)}"


def format_table(figures: Iterable[BranchFigure]) -> str:
    """Return a line per part, each followed by its missing branches."""
    lines = [f"{'package':24} {'covered':>7} {'of':>6} {'share':>8}"]
    for each in figures:
        verdict = "" if each.is_enough else f"  below {LEAST:.0%}"
        lines.append(f"{each.part.package:24} {each.covered:>7} {each.branches:>6} {each.share:>8.2%}{verdict}")
        lines += [f"    {branch}" for branch in each.missing]
    return "\n".join(lines)
