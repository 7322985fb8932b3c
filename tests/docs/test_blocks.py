"""Every block of every document is run, loaded or compared; those for elsewhere are consistent."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.docs.documents import DOCUMENTS, ELSEWHERE, Block, blocks_of, name_of, stray_fences, text_of
from tests.docs.elsewhere import missing_paths, unset_variables
from tests.docs.tried import LOADED, loaded, tried_in

each_document = pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
_ADVICE = "no test runs or compares this block; see 'Documents are executed' in CONTRIBUTING.md"
_NEEDED_ELSEWHERE = ("docker ", "gcloud ", "terraform ")
"""Programs that a machine with tests need not have."""


def find_untried(name: str, blocks: Iterable[Block], tried: Iterable[Block]) -> list[str]:
    """Return a line with file, line and advice for each block that is not tried."""
    known = set(tried)
    untried = [block for block in blocks if block not in known and not is_exempt(block)]
    return [f"{name}:{block.line}: {_ADVICE}" for block in untried]


def is_exempt(block: Block) -> bool:
    """Return whether this is a drawing, or commands for elsewhere."""
    is_drawing = not block.kind and any(letter in block.text for letter in "─│▶►")
    return is_drawing or block.mark == ELSEWHERE


def elsewhere_in(document: Path) -> list[Block]:
    return [block for block in blocks_of(text_of(document)) if block.mark == ELSEWHERE]


@each_document
def test_every_block_is_tried(document: Path) -> None:
    assert find_untried(name_of(document), blocks_of(text_of(document)), tried_in(document)) == []


@each_document
def test_no_block_hides_in_another_kind_of_fence(document: Path) -> None:
    assert [f"{name_of(document)}:{line}" for line in stray_fences(text_of(document))] == []


@each_document
def test_commands_for_elsewhere_need_what_a_test_has_not(document: Path) -> None:
    for block in elsewhere_in(document):
        assert any(program in block.text for program in _NEEDED_ELSEWHERE), f"{name_of(document)}:{block.line}: run it"


@each_document
def test_commands_for_elsewhere_name_existing_files_and_assigned_variables(document: Path) -> None:
    script = "\n".join(block.text for block in elsewhere_in(document))
    assert (missing_paths(script), unset_variables(script)) == ([], [])


def test_blocks_of_own_tests_are_there() -> None:
    for document, blocks in LOADED.items():
        for kind, heading in blocks:
            assert loaded(document, kind, heading), f"{name_of(document)}: {kind} under {heading!r}"


def test_untried_block_is_reported_with_its_line() -> None:
    first, second = blocks_of("# Title\n\n```sh\ntrue\n```\n\nText.\n\n```json\n{}\n```\n")
    assert find_untried("a.md", [first, second], [first]) == [f"a.md:9: {_ADVICE}"]
    assert find_untried("a.md", blocks_of("```\naex up\n```\n"), []) == [f"a.md:1: {_ADVICE}"]
    assert find_untried("a.md", blocks_of("```\na ──▶ b\n```\n"), []) == []
    assert stray_fences("```sh\ntrue\n```\n- item:\n  ```sh\n  true\n  ```\n~~~\n") == [5, 7, 8]


def test_wrong_file_and_variable_of_commands_for_elsewhere_are_found() -> None:
    script = "cd deploy/terraform\ncp variables.tf copy.tf\ncat copy.tf other.tf\ncat services/$service/Dockerfile\n"
    assert missing_paths(script) == ["other.tf"]
    assert unset_variables(script) == ["service"]
    assert unset_variables(f"for service in one two; do\n{script}done\nexport A=1 && echo $A $PWD\n") == []
