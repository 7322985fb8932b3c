"""Outcomes of hidden tests, and the port of their runner."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

MAX_MESSAGE = 500
"""Maximum characters of a test's message."""


class Outcome(StrEnum):
    """Outcome of one hidden test; every other outcome than `passed` is a failure of the test."""

    PASSED = "passed"
    FAILED = "failed"
    """An assertion does not hold, the test was skipped, or the output differs."""
    ERROR = "error"
    """Another exception ended the test."""
    TIMEOUT = "timeout"
    MEMORY = "memory"
    """The program needs more memory than it may use."""
    CRASHED = "crashed"
    """The program's process ended during the test."""


@dataclass(frozen=True, slots=True)
class HiddenTest:
    """Hidden test, as it was found in the test files or listed in the cases."""

    name: str
    """Name for people, unique among the tests."""
    path: str = ""
    """Test file; empty for a case of input and output."""
    function: str = ""
    """`Class.method`, or a function's name; empty for the whole file."""
    case: int = -1
    """Position in `cases`; -1 for a test of a file."""


@dataclass(frozen=True, slots=True)
class HiddenTestResult:
    """Result of one test."""

    name: str
    outcome: Outcome
    duration_ms: int
    message: str = ""
    """Reason of a failure; it may quote the test, so that agents never read it."""

    def as_json(self) -> dict[str, Any]:
        """Return the result as a JSON object."""
        return {
            "name": self.name,
            "outcome": self.outcome.value,
            "duration_ms": self.duration_ms,
            "message": self.message,
        }


class HiddenTestRunner(Protocol):
    """Runner of hidden tests."""

    async def run_tests(self, tests: Mapping[str, Any], program: Mapping[str, str]) -> Sequence[HiddenTestResult]:
        """Run all tests against a program and return their results in order.

        `tests`: the JSON of `HiddenTests`, without problems. `program`: source texts by path. Raises
        `SandboxUnavailable`.
        """
        ...
