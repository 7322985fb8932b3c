"""The README's first screen, its size, and who is led where."""

import re

from tests.docs.documents import GUIDES, README, RUN, blocks_of, name_of, text_of

TEXT = text_of(README)


def test_the_first_screen_has_exactly_two_commands() -> None:
    first = next(block for block in blocks_of(TEXT) if block.kind == RUN)
    assert [line.split("#")[0].strip() for line in first.text.splitlines()] == ["make demo", "make test"]
    assert TEXT.index("make test") < 1_500


def test_it_is_read_in_minutes() -> None:
    assert len(TEXT.split()) < 1_000
    assert len(TEXT.splitlines()) < 160


def test_readme_links_every_guide() -> None:
    links = set(re.findall(r"\]\(([^)]+)\)", TEXT))
    assert {name_of(guide) for guide in GUIDES} <= links
    assert {"deploy/README.md", "CONTRIBUTING.md", "SECURITY.md"} <= links


def test_each_guide_is_a_page_for_one_reader() -> None:
    assert {guide.stem for guide in GUIDES} == {"agents", "consumers", "extensions", "finance", "operators"}
    assert {
        guide.stem: len(text_of(guide).splitlines()) for guide in GUIDES if len(text_of(guide).splitlines()) > 190
    } == {}


def test_the_loop_for_ones_own_agent_is_short() -> None:
    gate = next(block for guide in GUIDES for block in blocks_of(text_of(guide)) if block.file == "gate.py")
    assert sum(1 for line in gate.text.splitlines()[1:] if line) <= 20
