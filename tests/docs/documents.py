"""The documents that users read, and what is in them: code blocks, links, headings."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
GUIDES = sorted((ROOT / "deploy/guides").glob("*.md"))
READ_ALONG = [ROOT / "deploy/README.md", *GUIDES]
"""Documents that are run from top to bottom, in this order on one suite: the first shows a counter that starts at 0."""
DOCUMENTS = sorted({*ROOT.glob("*.md"), *ROOT.glob("*/*/README.md"), *ROOT.glob("deploy/**/*.md")})
RUN = "sh"
DOCUMENTED = "text"
ELSEWHERE = "elsewhere"
"""Marks a block whose commands need what a test has not: Docker, or a project in the cloud."""
STOPPED = "stopped"
"""Marks a block that is for a suite that does not run."""
SUITE = "suite"
"""Marks a block that starts the suite in another terminal."""

_BLOCK = re.compile(r"^```(?P<kind>\w*)(?P<mark>[^\n]*)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)", re.MULTILINE)
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
_NAME = re.compile(r"# (?P<name>[\w./-]+\.(?:py|yaml))\n")
_SAVED = ("python", "yaml")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block."""

    kind: str
    text: str
    mark: str = ""
    section: str = ""
    """The heading above it."""
    line: int = 0
    """The line of its first fence."""

    @property
    def file(self) -> str | None:
        """The name under which its reader saves it: that in its first line; None where it has none."""
        named = _NAME.match(self.text) if self.kind in _SAVED else None
        return named["name"] if named else None


def name_of(document: Path) -> str:
    """The document's path below the root."""
    return document.relative_to(ROOT).as_posix()


def text_of(document: Path) -> str:
    return document.read_text(encoding="utf-8")


def blocks_of(text: str) -> list[Block]:
    """Return the fenced blocks of a document, in order."""
    return [
        Block(each["kind"], each["text"], each["mark"].strip(), *_position(text, each.start()))
        for each in _BLOCK.finditer(text)
    ]


def blocks_under(document: Path, heading: str) -> list[Block]:
    """Return the blocks directly under a heading."""
    return [block for block in blocks_of(text_of(document)) if block.section == heading]


def _position(text: str, offset: int) -> tuple[str, int]:
    before = _BLOCK.sub(lambda each: "\n" * each[0].count("\n"), text[:offset])
    return (_HEADING.findall(before) or [""])[-1].strip(), before.count("\n") + 1


def stray_fences(text: str) -> list[int]:
    """Return the lines of fences that are no part of a block: indented ones, and those of tildes."""
    rest = _BLOCK.sub(lambda each: "\n" * each[0].count("\n"), text)
    return [rest.count("\n", 0, each.start()) + 1 for each in _FENCE.finditer(rest)]


def prose_of(text: str) -> str:
    """Return the text outside of fenced blocks."""
    return _BLOCK.sub("", text)


def links_of(text: str) -> list[str]:
    """Targets of links that lead into this repository: a path, `path#heading` or `#heading`."""
    return re.findall(r"\]\((?!https?://)([^)]+)\)", prose_of(text))


def anchors_of(text: str) -> set[str]:
    """Return the anchors of the headings, as code hosts form them."""
    headings = _HEADING.findall(prose_of(text))
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}
