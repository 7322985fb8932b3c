"""Links and sections of SECURITY.md."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "SECURITY.md").read_text(encoding="utf-8")


def defences() -> list[str]:
    return [line for line in TEXT.splitlines() if line.startswith("| ") and "|---" not in line][1:]


def links(text: str) -> list[str]:
    return re.findall(r"\]\((?!https?://)([^)#]+)", text)


def test_each_defence_links_to_existing_files() -> None:
    assert len(defences()) >= 10
    for line in defences():
        named = links(line.rstrip(" |").rpartition("|")[2])
        assert named, line
        assert [path for path in named if not (ROOT / path).is_file()] == [], line


def test_most_defences_have_tests() -> None:
    tested = [line for line in defences() if any(Path(path).name.startswith("test_") for path in links(line))]
    assert len(tested) >= len(defences()) - 1


def test_page_states_limits_reporting_and_supported_releases() -> None:
    for word in ("## Limits", "**Reporting.**", "**Supported**"):
        assert word in TEXT


def test_page_is_short_and_linked_from_the_readme() -> None:
    assert len(TEXT.split()) < 1_100
    assert "](SECURITY.md)" in (ROOT / "README.md").read_text(encoding="utf-8")
