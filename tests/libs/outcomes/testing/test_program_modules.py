"""A star import of the program replaces no name that the test relies on."""

import pytest

from aex_outcomes.testing.memory_importer import SourceFinder
from aex_outcomes.testing.program_modules import choose_names
from tests.libs.outcomes.graded import Graded

PROGRAM = """
import math
__all__ = ["double", "sum", "abs", "math", "unittest", "helper", "SECRET", "__name__", "__builtins__", 5]
SECRET = "of the program"
unittest = __builtins__ = None
def double(x): return 2 * x
def sum(a, b): return a + b + 1
def abs(x): return 0
def helper(): return "of the program"
"""


@pytest.mark.parametrize(
    ("source", "outcome"),
    [
        ("from solution import *\nassert double(2) == 4 and sum([1, 2]) == 3 and abs(-7) == 7", "passed"),
        ("from solution import *\nassert sum(10, 15) == 26", "passed"),
        ("from solution import *\nassert math.sqrt(4) == 2 and double(1) == 2", "passed"),
        ("import unittest\nfrom solution import *\nassert unittest.TestCase and double(1) == 2", "passed"),
        ("def helper(): return 1\nfrom solution import *\nassert helper() == 1 and double(1) == 2", "passed"),
        ("from solution import *\nassert helper() == 'of the program' and __name__ == 'checks'", "passed"),
        ("from solution import abs, double\nassert abs(double(1)) == 0", "passed"),
        ("import solution\nassert solution.abs(7) == 0 and 'sum' in solution.__all__", "passed"),
        ("from solution import *\nassert absent", "error"),
    ],
)
def test_a_star_import_binds_what_only_the_program_has(graded: Graded, source: str, outcome: str) -> None:
    tests = {"style": "functions", "files": {"checks.py": source}}
    [only] = graded.results(tests, {"solution.py": PROGRAM})
    assert only.outcome == outcome, only


@pytest.mark.parametrize(
    ("source", "is_replaced"),
    [
        ("assert sum(1, 2) == 4", True),
        ("assert sum(1, 2) == double(2)", False),
        ("total = 4\nassert sum(1, 2) == total", True),
        ("import math, os.path as paths\nassert sum(1, 2) == math.pi and paths", True),
        ("def check(x, *more): return sum(x, more)", True),
        ("class Checks:\n    pass\nassert sum(1, 2) == Checks", True),
        ("try: sum(1, 2)\nexcept ValueError as error: assert error", True),
        ("try: sum(1, 2)\nexcept: assert double", False),
    ],
)
def test_a_built_in_name_is_replaced_only_if_the_test_uses_no_other_of_the_program(
    source: str, is_replaced: bool
) -> None:
    namespace = {"__name__": "checks", "__loader__": SourceFinder({"checks.py": source}), "helper": 1}
    offered = ["sum", "double", "helper", "__name__", 5]
    assert choose_names(offered, namespace) == (["sum", "double"] if is_replaced else ["double"])
