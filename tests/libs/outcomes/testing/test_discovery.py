"""Hidden tests are found in source text, whatever runs later."""

from typing import Any

from aex_models.hidden_tests import HiddenTests
from aex_outcomes.testing.discovery import find_tests

CLASSES = """
import unittest
from bases import MyTestCase
class A(unittest.TestCase):
    def test_b(self): ...
    def test_a(self): ...
    def helper(self): ...
    test_attribute = 1
class B(MyTestCase):
    def test_c(self): ...
class C(A):
    def test_d(self): ...
class D:
    def test_e(self): ...
if True:
    class E(unittest.TestCase):
        def test_f(self): ...
def test_g(): ...
"""
FUNCTIONS = """
def test_b(): ...
def test_a(): ...
def test_b(): ...
def test_c(x): ...
def test_d(*, x=1): ...
def helper(): ...
class A:
    def test_e(self): ...
"""


def names(style: str, **more: Any) -> list[str]:
    tests = HiddenTests.model_validate({"style": style, **more}).model_dump(mode="json")
    return [each.name for each in find_tests(tests)]


def test_methods_are_tests_if_a_base_of_their_class_ends_in_test_case() -> None:
    assert names("unittest", files={"t.py": CLASSES}) == ["t.py::A.test_b", "t.py::A.test_a", "t.py::B.test_c"]


def test_functions_without_parameters_are_tests() -> None:
    assert names("functions", files={"t.py": FUNCTIONS}) == ["t.py::test_b", "t.py::test_a"]


def test_a_file_without_functions_is_a_test_unless_another_file_imports_it() -> None:
    files = {"a.py": "import b\nfrom pack import c", "b.py": "X = 1", "pack/c.py": "", "d.py": "assert 1", "e.txt": ""}
    assert names("functions", files=files) == ["a.py", "d.py"]


def test_cases_are_tests_by_their_position() -> None:
    assert names("io", cases=[{"stdout": ""}, {"stdout": ""}]) == ["case 0", "case 1"]


def test_files_that_are_no_python_have_no_tests() -> None:
    assert (
        names("functions", files={"a.py": "def test_f(:", "b-c.py": "def test_f(): ...", "d.md": "def test_f(): ..."})
        == []
    )
