"""The README's first screen, its size, and who is led where."""

import re
import subprocess

from tests.docs.documents import GUIDES, README, ROOT, RUN, blocks_of, name_of, text_of
from tests.docs.tried import loaded

TEXT = text_of(README)


def test_the_first_screen_has_exactly_two_commands() -> None:
    (first,) = loaded(README, RUN, "AEX Outcomes")
    commands = [line.split("#")[0].strip() for line in first.text.splitlines()]
    assert commands == ["make demo", "make test"]
    assert TEXT.index("make test") < 1_500
    dry_run = ["make", "--no-print-directory", "--dry-run"]
    recipes = [
        subprocess.run([*dry_run, *each.split()[1:]], cwd=ROOT, capture_output=True, text=True, check=True)
        for each in commands
    ]
    last = [each.stdout.splitlines()[-1].split()[0:2] for each in recipes]
    assert last == [[".venv/bin/aex", "demo"], [".venv/bin/pytest", "-n"]]  # which other tests run


def test_it_is_read_in_minutes() -> None:
    assert len(TEXT.split()) < 1_000
    assert len(TEXT.splitlines()) < 160


def test_readme_links_every_guide() -> None:
    links = set(re.findall(r"\]\(([^)]+)\)", TEXT))
    assert {name_of(guide) for guide in GUIDES} <= links
    assert {"deploy/README.md", "CONTRIBUTING.md", "SECURITY.md"} <= links


def test_each_guide_is_a_page_for_one_reader() -> None:
    readers = {"agents", "consumers", "extensions", "finance", "graders", "importing", "operators"}
    assert {guide.stem for guide in GUIDES} == readers
    lines = {guide.stem: len(text_of(guide).splitlines()) for guide in GUIDES}
    assert lines.pop("graders") <= 500, "an example for each job"
    assert max(lines.values()) <= 190, lines


def test_the_loop_for_ones_own_agent_is_short() -> None:
    gate = next(block for guide in GUIDES for block in blocks_of(text_of(guide)) if block.file == "gate.py")
    assert sum(1 for line in gate.text.splitlines()[1:] if line) <= 20
