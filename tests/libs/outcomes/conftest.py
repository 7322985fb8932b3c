"""A runner of hidden tests that all tests of the engine share."""

from collections.abc import Iterator

import pytest

from aex_outcomes.testing.runner import WorkerTestRunner
from tests.libs.outcomes.graded import Graded


@pytest.fixture(scope="session")
def graded() -> Iterator[Graded]:
    runner = WorkerTestRunner()
    yield Graded(runner)
    runner.close()
