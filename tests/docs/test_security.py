"""What SECURITY.md claims names where it is shown, and that is there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "SECURITY.md").read_text(encoding="utf-8")


def defences() -> list[str]:
    return [line for line in TEXT.splitlines() if line.startswith("| ") and "|---" not in line][1:]


def links(text: str) -> list[str]:
    return re.findall(r"\]\((?!https?://)([^)#]+)", text)


def test_each_defence_names_files_that_are_there() -> None:
    assert len(defences()) >= 10
    for line in defences():
        named = links(line.rstrip(" |").rpartition("|")[2])
        assert named, line
        assert [path for path in named if not (ROOT / path).is_file()] == [], line


def test_most_defences_are_shown_by_tests() -> None:
    tested = [line for line in defences() if any(Path(path).name.startswith("test_") for path in links(line))]
    assert len(tested) >= len(defences()) - 1


def test_it_says_what_does_not_stop_them_how_to_report_and_what_is_supported() -> None:
    for word in ("## What does not stop them", "**Reporting.**", "**Supported**"):
        assert word in TEXT


def test_it_is_one_page_that_the_readme_leads_to() -> None:
    assert len(TEXT.split()) < 1_100
    assert "](SECURITY.md)" in (ROOT / "README.md").read_text(encoding="utf-8")
