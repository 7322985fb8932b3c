"""Programs graded by hidden tests."""

from collections.abc import Mapping
from typing import Any

from aex_models.hidden_tests import HiddenTests
from aex_outcomes.testing.results import HiddenTestResult
from aex_outcomes.testing.runner import WorkerTestRunner


class Graded:
    """Runs tests on a program and returns the outcome of each test by its name."""

    def __init__(self, runner: WorkerTestRunner) -> None:
        self.runner = runner

    def results(self, tests: Mapping[str, Any], program: Mapping[str, str]) -> list[HiddenTestResult]:
        return self.runner.run(HiddenTests.model_validate(tests).model_dump(mode="json"), program)

    def functions(self, code: str, tests: str, **more: Any) -> dict[str, str]:
        """Outcomes by function's name; `code` is the module `solution`."""
        complete = {
            "style": "functions",
            "files": {"checks.py": f"from solution import *\nimport solution\n{tests}"},
            **more,
        }
        found = self.results(complete, {"solution.py": code})
        return {each.name.partition("::")[2]: each.outcome.value for each in found}

    def one(self, code: str, statement: str, **more: Any) -> HiddenTestResult:
        """The result of a test with this body."""
        body = "\n".join(f"    {line}" for line in statement.splitlines())
        tests = {
            "style": "functions",
            "files": {"checks.py": f"from solution import *\nimport solution\ndef test_it():\n{body}\n"},
            **more,
        }
        [only] = self.results(tests, {"solution.py": code})
        return only
