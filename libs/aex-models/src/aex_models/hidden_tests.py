"""Hidden tests of an agent's program: test files or pairs of input and output, with their limits."""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from aex_models.frozen import Frozen, StrictInt
from aex_models.grader_data import JsonPointer

FilePath = Annotated[str, Field(min_length=1, max_length=300)]
ProgramFiles = Annotated[dict[FilePath, str], Field(min_length=1, max_length=200)]
"""Source texts by relative path, such as `package/module.py`."""


class HiddenTestStyle(StrEnum):
    """The kind of a work's hidden tests."""

    UNITTEST = "unittest"
    """Methods `test*` of classes whose bases end in `TestCase`."""
    FUNCTIONS = "functions"
    """Module-level functions `test*` without parameters; a file without any is one test as a whole."""
    IO = "io"
    """Cases of standard input and expected standard output of the program."""


class OutputMatch(StrEnum):
    """The comparison of a program's output with the expected one."""

    EXACT = "exact"
    """Texts that are equal, apart from one final newline."""
    TOKENS = "tokens"
    """Equal lists of words between white space."""
    FLOAT = "float"
    """Equal words, where numbers may differ by 1e-6, absolutely or relatively."""


class IoCase(Frozen):
    """A run of a program: its standard input and its expected output."""

    stdin: str = ""
    """Standard input."""
    stdout: str
    """Expected standard output."""
    match: OutputMatch = OutputMatch.EXACT
    """Comparison of the outputs."""


class HiddenTests(Frozen):
    """Tests that run against the agent's program, and their limits. Agents never see them."""

    language: Literal["python"] = "python"
    """Language of program and tests."""
    style: HiddenTestStyle
    """Kind of the tests."""
    files: ProgramFiles | None = None
    """Test files and their helper modules; needed unless the style is `io`."""
    cases: Annotated[list[IoCase], Field(min_length=1, max_length=500)] | None = None
    """Cases of the style `io`."""
    module: Annotated[str, Field(max_length=100, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")] = "solution"
    """Name under which tests import a program that is delivered as one text; the program that `io` runs."""
    reference: ProgramFiles | None = None
    """Correct program, on which the tests are tried before the work is open."""
    timeout_ms: Annotated[StrictInt, Field(ge=1, le=60_000)] = 5_000
    """Time of one test in milliseconds."""
    total_ms: Annotated[StrictInt, Field(ge=1, le=300_000)] = 60_000
    """Time of all tests in milliseconds."""
    memory_mb: Annotated[StrictInt, Field(ge=16, le=1_024)] = 256
    """Memory of the program in megabytes."""
    at: JsonPointer | None = None
    """Location of the program in the output; by default `/files`, else `/code`."""
