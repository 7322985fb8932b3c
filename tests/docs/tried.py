"""The blocks of the documents that tests run, load or compare. The tests take their blocks from here."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from tests.docs.documents import (
    DOCUMENTED,
    READ_ALONG,
    README,
    ROOT,
    RUN,
    STOPPED,
    SUITE,
    Block,
    blocks_of,
    blocks_under,
    text_of,
)

CLI = ROOT / "libs/aex-cli/README.md"
CLIENT = ROOT / "libs/aex-client/README.md"
EXAMPLES = sorted(ROOT.glob("libs/aex-[mor]*/README.md"))
EXTENSIONS = ROOT / "deploy/guides/extensions.md"
OPERATORS = ROOT / "deploy/guides/operators.md"
GOVERNANCE = ROOT / "services/governance/README.md"
OUTCOMES = ROOT / "libs/aex-outcomes/README.md"
VERIFICATION = ROOT / "services/verification/README.md"
FIVE_MINUTES = "Your first contract, in five minutes"
LOADED: Mapping[Path, Sequence[tuple[str, str]]] = {
    README: [(RUN, "AEX Outcomes")],
    READ_ALONG[0]: [("yaml", "In containers")],
    CLI: [("toml", "Commands of other packages")],
    EXTENSIONS: [("toml", "In a package")],
    GOVERNANCE: [("yaml", "Rules")],
    OPERATORS: [("yaml", "Tune the rules")],
    OUTCOMES: [("yaml", "A metric of your own"), ("yaml", "A domain of your own"), ("yaml", "In a service")],
    VERIFICATION: [("dockerfile", "Named verifiers")],
}
"""Document → kind and heading of the blocks that a test of their own reads by `loaded`."""


def loaded(document: Path, kind: str, heading: str) -> list[Block]:
    """Return the blocks of a kind under a heading. Raises `LookupError` for one that is not in `LOADED`."""
    if (kind, heading) not in LOADED[document]:
        raise LookupError(f"{document.name}: add ({kind!r}, {heading!r}) to LOADED")
    return [block for block in blocks_under(document, heading) if block.kind == kind]


def python_of(document: Path) -> list[Block]:
    return [block for block in blocks_of(text_of(document)) if block.kind == "python"]


def tried_in(document: Path) -> Iterator[Block]:
    """Yield the blocks of a document that a test runs, loads or compares with what is printed."""
    blocks = blocks_of(text_of(document))
    if document == README:
        yield from _run(blocks_under(README, FIVE_MINUTES))
    if document in {*READ_ALONG, CLI}:
        yield from _run(blocks)
    if document in {*EXAMPLES, CLIENT}:
        yield from python_of(document)
    for kind, heading in LOADED.get(document, ()):
        yield from loaded(document, kind, heading)
    if document == READ_ALONG[0]:
        yield from (block for block in blocks if block.mark in {STOPPED, SUITE})


def _run(blocks: Sequence[Block]) -> Iterator[Block]:
    """Yield commands, the output below them, and files that later commands or files name."""
    for index, block in enumerate(blocks):
        later = "".join(each.text for each in blocks[index + 1 :])
        if (block.kind == RUN and not block.mark) or (block.file and Path(block.file).stem in later):
            yield block
    for block, follower in pairwise(blocks):
        if block.kind == RUN and not block.mark and follower.kind == DOCUMENTED:
            yield follower
