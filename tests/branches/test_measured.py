"""The figures of branch coverage: each part by itself, and too few is never a pass."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.branches.measured import PARTS, ROOT, Part, figure, table

LEFT, RIGHT = Part("left", "left/src", ()), Part("right", "right/src", ())


def a_file(taken: int, missing: list[list[int]]) -> dict[str, Any]:
    summary = {"covered_branches": taken, "num_branches": taken + len(missing)}
    return {"summary": summary, "missing_branches": missing}


def written(folder: Path, files: dict[str, Any]) -> Path:
    report = folder / "report.json"
    report.write_text(json.dumps({"files": files}), encoding="utf-8")
    return report


def test_each_part_has_its_own_figure_and_one_cannot_make_up_for_another(tmp_path: Path) -> None:
    files = {"left/src/a.py": a_file(9, [[3, 5], [7, -1]]), "left/src/b.py": a_file(9, [])}
    report = written(tmp_path, {**files, "right/src/c.py": a_file(400, [])})
    left, right = figure(report, LEFT), figure(report, RIGHT)
    assert (left.taken, left.branches, left.enough) == (18, 20, False)
    assert (right.share, right.enough) == (1.0, True)
    assert left.missing == ("a.py: 3→5, 7→-1",)


@pytest.mark.parametrize(("missing", "enough"), [(1, True), (2, False)])
def test_ninety_five_of_a_hundred_are_enough(tmp_path: Path, missing: int, enough: bool) -> None:
    report = written(tmp_path, {"left/src/a.py": a_file(20 - missing, [[1, 2]] * missing)})
    assert figure(report, LEFT).enough is enough


def test_a_part_of_which_nothing_was_measured_does_not_pass(tmp_path: Path) -> None:
    nothing = figure(written(tmp_path, {"right/src/c.py": a_file(4, [])}), LEFT)
    assert not nothing.enough
    assert "below 95%" in table([nothing])


def test_every_part_and_all_of_its_tests_are_there() -> None:
    for part in PARTS:
        assert any((ROOT / part.folder).glob("*.py"))
        assert all((ROOT / test).exists() for test in part.tests)
    assert {part.folder for part in PARTS} >= {
        str(folder.relative_to(ROOT)) for folder in ROOT.glob("services/*/src/*/rules")
    }
