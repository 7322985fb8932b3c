"""A worker of hidden tests finds out by itself whether it may run them."""

import pytest

from aex_outcomes.testing.jobs import DisposableTestRunner, find_self_test_failures, get_worker_test_runner


def test_honest_and_hostile_programs_have_their_outcomes_here() -> None:
    try:
        assert find_self_test_failures() == []
    finally:
        get_worker_test_runner().close()


@pytest.mark.slow
async def test_a_disposable_runner_returns_the_results_of_its_worker() -> None:
    tests = {
        "style": "functions",
        "files": {"checks.py": "import solution\ndef test_f(): assert solution.f() == 1\ndef test_g(): solution.g()"},
        "cases": None,
        "module": "solution",
        "timeout_ms": 5_000,
        "total_ms": 10_000,
        "memory_mb": 64,
    }
    found = await DisposableTestRunner().run_tests(tests, {"solution.py": "def f(): return 1"})
    assert [(each.name, each.outcome) for each in found] == [
        ("checks.py::test_f", "passed"),
        ("checks.py::test_g", "error"),
    ]
