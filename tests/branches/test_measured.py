import json
from pathlib import Path
from typing import Any

import pytest

from tests.branches.measured import PARTS, ROOT, CoveredPart, read_figure

LEFT, RIGHT = CoveredPart("left", "left/src", ()), CoveredPart("right", "right/src", ())


def file_entry(covered: int, missing: list[list[int]]) -> dict[str, Any]:
    summary = {"covered_branches": covered, "num_branches": covered + len(missing)}
    return {"summary": summary, "missing_branches": missing}


def write_report(folder: Path, files: dict[str, Any]) -> Path:
    report = folder / "report.json"
    report.write_text(json.dumps({"files": files}), encoding="utf-8")
    return report


def test_each_part_has_its_own_figure(tmp_path: Path) -> None:
    files = {"left/src/a.py": file_entry(9, [[3, 5], [7, -1]]), "left/src/b.py": file_entry(9, [])}
    report = write_report(tmp_path, {**files, "right/src/c.py": file_entry(400, [])})
    left, right = read_figure(report, LEFT), read_figure(report, RIGHT)
    assert (left.covered, left.branches, left.is_enough) == (18, 20, False)
    assert (right.share, right.is_enough) == (1.0, True)
    assert left.missing == ("a.py: 3→5, 7→-1",)


@pytest.mark.parametrize(("missing", "is_enough"), [(1, True), (2, False)])
def test_95_percent_are_enough(tmp_path: Path, missing: int, is_enough: bool) -> None:
    report = write_report(tmp_path, {"left/src/a.py": file_entry(20 - missing, [[1, 2]] * missing)})
    assert read_figure(report, LEFT).is_enough is is_enough


def test_parts_and_their_tests_exist() -> None:
    for part in PARTS:
        assert any((ROOT / part.folder).glob("*.py"))
        assert all((ROOT / test).exists() for test in part.tests)
    assert {part.folder for part in PARTS} >= {
        str(folder.relative_to(ROOT)) for folder in ROOT.glob("services/*/src/*/rules")
    }
