"""What is measured, by which tests, and what came of it."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
LEAST = 0.95
"""Of the branches of each part (spec file 9)."""


@dataclass(frozen=True, slots=True)
class Part:
    """A package and the tests that are its own: those beside it in the mirrored tree."""

    package: str
    folder: str
    tests: tuple[str, ...]


def _rules(service: str, *further: str) -> Part:
    name = service.replace("-", "_")
    folder, tests = f"services/{service}/src/aex_{name}/rules", f"tests/services/{name}"
    return Part(f"aex_{name}.rules", folder, (f"{tests}/rules", *(f"{tests}/{each}" for each in further)))


_AUDITS = ("impossible_transactions", "lost_journals", "projections", "sums", "tampered_ledgers", "waiting_corrections")
"""What an audit concludes is settlement's largest rule. Its tests of ledgers in motion are long and about the rest."""
PARTS = (
    Part("aex_outcomes", "libs/aex-outcomes/src/aex_outcomes", ("tests/libs/outcomes",)),
    _rules("governance"),
    _rules("settlement", *(f"audit/test_{each}.py" for each in _AUDITS)),
    Part("aex_models", "libs/aex-models/src/aex_models", ("tests/libs/models",)),
    _rules("verification"),
    _rules("work-publisher"),
)
"""Those that take longest come first."""


@dataclass(frozen=True, slots=True)
class Figure:
    """How many of a part's branches were taken, and where others start: `file: from→to`; a `to` below 0 is an end."""

    part: Part
    taken: int
    branches: int
    missing: tuple[str, ...]

    @property
    def share(self) -> float:
        """Of nothing measured: 0, which is no pass."""
        return self.taken / self.branches if self.branches else 0.0

    @property
    def enough(self) -> bool:
        return self.share >= LEAST


def figure(report: Path, part: Part) -> Figure:
    """The part's figure in coverage.py's JSON report, whose paths are relative to the root."""
    files = json.loads(report.read_text(encoding="utf-8"))["files"]
    inside = {name: each for name, each in files.items() if name.startswith(f"{part.folder}/")}
    taken = sum(each["summary"]["covered_branches"] for each in inside.values())
    branches = sum(each["summary"]["num_branches"] for each in inside.values())
    return Figure(part, taken, branches, tuple(_missing(part, inside)))


def _missing(part: Part, files: Mapping[str, Any]) -> Iterator[str]:
    for name, each in sorted(files.items()):
        arrows = [f"{start}→{end}" for start, end in each["missing_branches"]]
        if arrows:
            yield f"{name.removeprefix(part.folder + '/')}: {', '.join(arrows)}"


def table(found: Iterable[Figure]) -> str:
    """One line for each part; below it the branches that are missing."""
    lines = [f"{'package':24} {'taken':>6} {'of':>6} {'share':>8}"]
    for each in found:
        verdict = "" if each.enough else f"  below {LEAST:.0%}"
        lines.append(f"{each.part.package:24} {each.taken:>6} {each.branches:>6} {each.share:>8.2%}{verdict}")
        lines += [f"    {place}" for place in each.missing]
    return "\n".join(lines)
