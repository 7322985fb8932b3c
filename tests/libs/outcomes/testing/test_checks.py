"""Mistakes in hidden tests are found at submission, all at once, with their pointers."""

from typing import Any

import pytest

from aex_models.hidden_tests import HiddenTests
from aex_outcomes.extractors.hidden_tests import HiddenTestsExtractor
from aex_outcomes.testing.checks import HiddenTestLimits, check_hidden_tests, find_path_problem

GOOD = "import math\nfrom solution import f\ndef test_f(): assert f() == 1\n"


def problems(limits: HiddenTestLimits | None = None, **tests: Any) -> list[tuple[str, str]]:
    complete = {"style": "functions", "files": {"checks.py": GOOD}, **tests}
    normal = HiddenTests.model_validate(complete).model_dump(mode="json")
    return [(each.path, each.code) for each in check_hidden_tests(normal, limits or HiddenTestLimits())]


def test_good_tests_have_no_problem() -> None:
    assert problems() == []
    assert problems(reference={"solution.py": "from helper import f", "helper.py": "def f(): return 1"}) == []
    assert problems(style="io", files=None, cases=[{"stdout": "1"}]) == []
    assert problems(files={"checks.py": GOOD, "data.txt": "not Python", "aid.py": "import checks"}) == []


@pytest.mark.parametrize(
    ("tests", "path", "code"),
    [
        ({"files": {"a.py": "def test_f(:"}}, "/tests/files/a.py", "syntax_error"),
        ({"files": {"a.py": "x = '\0'\ndef test_f(): pass"}}, "/tests/files/a.py", "syntax_error"),
        ({"files": {"a.py": GOOD, "b.py": "import numpy"}}, "/tests/files/b.py", "module_not_allowed"),
        ({"files": {"a.py": "import socket\ndef test_f(): pass"}}, "/tests/files/a.py", "module_not_allowed"),
        ({"files": {"a.py": GOOD, "../b.py": ""}}, "/tests/files/..~1b.py", "invalid_path"),
        ({"files": {"a.py": GOOD, "/b.py": ""}}, "/tests/files/~1b.py", "invalid_path"),
        ({"files": {"a.py": GOOD, "json.py": ""}}, "/tests/files/json.py", "module_name_taken"),
        ({"files": {"a.py": GOOD, "solution.py": ""}}, "/tests/files/solution.py", "module_name_taken"),
        ({"files": {"a.py": GOOD, "aex_tests.py": ""}}, "/tests/files/aex_tests.py", "module_name_taken"),
        ({"module": "json", "files": {"a.py": "def test_f(): pass"}}, "/tests/module", "module_name_taken"),
        ({"reference": {"re.py": "", "solution.py": ""}}, "/tests/reference/re.py", "module_name_taken"),
        ({"reference": {"solution.py": "import ctypes"}}, "/tests/reference/solution.py", "module_not_allowed"),
        ({"reference": {"solution.py": "def"}}, "/tests/reference/solution.py", "syntax_error"),
        ({"files": {"a.py": "async def test_f(): pass\ndef test_g(): pass"}}, "/tests/files/a.py", "async_test"),
        ({"style": "unittest"}, "/tests/files", "no_test"),
        ({"files": None}, "/tests/files", "no_test"),
        ({"style": "io", "files": None}, "/tests/cases", "no_test"),
        (
            {"style": "io", "files": None, "cases": [{"stdout": ""}], "reference": {"main.py": ""}},
            "/tests/reference",
            "module_missing",
        ),
        (
            {"files": {"a.py": "".join(f"def test_{each}(): pass\n" for each in range(501))}},
            "/tests/files",
            "too_many_tests",
        ),
        ({"files": {"a.py": f"{GOOD}# {'x' * 1_000_000}"}}, "/tests/files", "tests_too_large"),
        ({"reference": {"solution.py": f"# {'x' * 1_000_000}"}}, "/tests/reference", "tests_too_large"),
        (
            {"style": "io", "files": None, "cases": [{"stdout": "x" * 1_000_001}]},
            "/tests/cases",
            "tests_too_large",
        ),
    ],
)  # fmt: skip
def test_a_mistake_is_found_with_its_pointer(tests: dict[str, Any], path: str, code: str) -> None:
    assert problems(**tests) == [(path, code)]


def test_a_limit_above_that_of_the_installation_is_refused() -> None:
    found = problems(HiddenTestLimits(timeout_ms=1_000, memory_mb=100), timeout_ms=1_001, total_ms=5_001, memory_mb=101)
    assert found == [(f"/tests/{key}", "limit_exceeded") for key in ("timeout_ms", "total_ms", "memory_mb")]
    assert (
        problems(HiddenTestLimits(timeout_ms=1_000, memory_mb=100), timeout_ms=1_000, total_ms=5_000, memory_mb=100)
        == []
    )


def test_mistakes_are_found_beside_fields_of_a_wrong_shape() -> None:
    raw = {"style": "function", "files": {"a.py": "def", "b.py": "import numpy"}, "timeout_ms": "5", "extra": 1}
    found = HiddenTestsExtractor().check_evaluation({"tests": raw})
    assert [(each.path, each.code) for each in found] == [
        ("/tests/files/a.py", "syntax_error"),
        ("/tests/files/b.py", "module_not_allowed"),
    ]


def test_defaults_above_the_limits_of_the_installation_are_lowered_to_them() -> None:
    extractor = HiddenTestsExtractor(limits=HiddenTestLimits(timeout_ms=1_000, memory_mb=100))
    tests = {"style": "functions", "files": {"a.py": GOOD}}
    assert list(extractor.check_evaluation({"tests": tests})) == []
    found = extractor.check_evaluation({"tests": {**tests, "memory_mb": 101}})
    assert [(each.path, each.code) for each in found] == [("/tests/memory_mb", "limit_exceeded")]
    assert extractor.max_seconds({"tests": tests}, None) == 5


def test_all_mistakes_are_reported_at_once() -> None:
    files = {"a.py": "import numpy\nimport socket\ndef test_f(): pass", "b.py": "def", "os.py": ""}
    assert problems(files=files, module="json") == [
        ("/tests/files/b.py", "syntax_error"),
        ("/tests/files/os.py", "module_name_taken"),
        ("/tests/module", "module_name_taken"),
        ("/tests/files/a.py", "module_not_allowed"),
        ("/tests/files/a.py", "module_not_allowed"),
    ]


@pytest.mark.parametrize("path", ["", "/a.py", "a//b.py", "./a.py", "a/../b.py", "a\\b.py", "a\0.py", "a/"])
def test_only_plain_relative_paths_are_files(path: str) -> None:
    assert find_path_problem(path) is not None


def test_a_plain_relative_path_is_a_file() -> None:
    assert find_path_problem("a/b c.py") is None
