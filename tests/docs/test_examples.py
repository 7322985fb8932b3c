"""Python in the packages' READMEs runs as it stands."""

import pytest

from tests.docs.tried import EXAMPLES, python_of

BLOCKS = [
    pytest.param(block.text, id=f"{document.parent.name}-{number}")
    for document in EXAMPLES
    for number, block in enumerate(python_of(document), start=1)
]


def test_there_are_examples() -> None:
    assert len(BLOCKS) >= 4


@pytest.mark.parametrize("block", BLOCKS)
def test_the_example_runs(block: str) -> None:
    exec(compile(block, "README.md", "exec"), {})  # noqa: S102 the examples are ours
