"""Python in the packages' READMEs runs as it stands."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = [
    pytest.param(block, id=f"{document.parent.name}-{number}")
    for document in sorted(ROOT.glob("libs/aex-[mor]*/README.md"))
    for number, block in enumerate(
        re.findall(r"^```python\n(.*?)^```", document.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE), start=1
    )
]


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 4


@pytest.mark.parametrize("block", EXAMPLES)
def test_the_example_runs(block: str) -> None:
    exec(compile(block, "README.md", "exec"), {})  # noqa: S102 the examples are ours
