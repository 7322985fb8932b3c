"""Hidden tests run as in one process, but for what could deceive them."""

import pytest

from tests.libs.outcomes.graded import Graded

PROGRAM = """
import collections, enum

class Refused(ValueError):
    pass

class TooLate(Refused):
    pass

class Stack:
    limit = 3
    def __init__(self, *items): self.items = list(items)
    def push(self, item):
        if len(self.items) >= self.limit: raise Refused("full")
        self.items.append(item)
    def pop(self): return self.items.pop()
    def __len__(self): return len(self.items)
    def __iter__(self): return iter(self.items)
    def __getitem__(self, index): return self.items[index]
    def __setitem__(self, index, item): self.items[index] = item
    def __delitem__(self, index): del self.items[index]
    def __bool__(self): return bool(self.items)
    def __str__(self): return f"Stack({self.items})"
    def __eq__(self, other): return True
    def __hash__(self): return 0
    def __lt__(self, other): return len(self) < len(other)
    def __add__(self, other): return Stack(*self.items, *other.items)
    def __enter__(self): return self
    def __exit__(self, *_): self.items.clear()

class Tall(Stack):
    limit = 10

Point = collections.namedtuple("Point", "x y")
Colour = enum.Enum("Colour", "RED BLUE")
LIMIT = 7

def double(x): return 2 * x
def sort(values): values.sort(); return values
def grow(mapping, key): mapping[key] = mapping; return None
def numbers(n):
    for each in range(n): yield each
def fail(kind): raise {"refused": Refused, "late": TooLate, "key": KeyError}[kind]("no", 3)
def leave(): raise SystemExit(0)
def crash():
    import os
    os._exit(3)
def say(text): print(text, end="!")
def apply(function): return function(1)
def defaults(a, *, b=2): return [a, b]
"""


@pytest.mark.parametrize(
    "statement",
    [
        "assert double(21) == 42 and double('a') == 'aa' and double([1]) == [1, 1]",
        "assert solution.LIMIT == 7 and Stack.limit == 3 and Tall().limit == 10",
        "values = [3, 1, 2]\nassert sort(values) is values and values == [1, 2, 3]",
        "inner = [2, 1]\nouter = {'a': inner}\nsort(inner)\nassert outer == {'a': [1, 2]}",
        "mapping = {}\ngrow(mapping, 'k')\nassert mapping['k'] is mapping",
        "stack = Stack(1)\nstack.push([2])\nassert len(stack) == 2 and stack.pop() == [2] and list(stack) == [1]",
        "stack = Stack(1, 2)\nstack[0] = 5\ndel stack[1]\nassert stack[0] == 5 and str(stack) == 'Stack([5])'",
        "assert not Stack() and 1 in Stack(1) and 2 not in Stack(1)",
        "stack = Stack(1)\nstack.items = [7]\nassert stack.items == [7]",
        "assert isinstance(Tall(), Stack) and not isinstance(Stack(), Tall) and issubclass(Tall, Stack)",
        "assert not isinstance(3, Stack)",
        "assert Stack() < Stack(1) and (Stack(1) + Stack(2)).items == [1, 2]",
        "with Stack(1) as stack:\n    assert len(stack) == 1\nassert len(stack) == 0",
        "assert list(numbers(3)) == [0, 1, 2] and next(numbers(1)) == 0 and sum(numbers(5)) == 10",
        "found = numbers(0)\ntry:\n    next(found)\nexcept StopIteration:\n    pass\nelse:\n    raise AssertionError",
        "point = Point(1, y=2)\nassert point == (1, 2) and point.y == 2",
        "assert Colour.RED == Colour.RED and Colour.RED != Colour.BLUE and Colour.RED.name == 'RED'",
        "assert defaults(1, b=3) == [1, 3] and defaults(a=4) == [4, 2]",
        "import contextlib, io\nout = io.StringIO()\nwith contextlib.redirect_stdout(out):\n    say('hi')\n"
        "assert out.getvalue() == 'hi!'",
        "from aex_tests import ask\nassert ask(Stack(), '__eq__', 5) is True",
        "import logging, unittest\nwith unittest.TestCase().assertLogs():\n    logging.warning('here')",
        "from xml.dom.minidom import parseString\nassert parseString('<a/>').documentElement.tagName == 'a'",
        "stack = Stack()\nassert stack == stack and stack in [stack] and {stack: 1}[stack] == 1",
        "method = Stack(4).pop\nassert method() == 4",
        "import solution as s, unittest\ncase = unittest.TestCase()\nwith case.assertRaisesRegex(s.Refused, 'no'):\n"
        "    fail('refused')",
        "try:\n    fail('late')\nexcept solution.Refused as error:\n    assert error.args == ('no', 3)\n"
        "    assert isinstance(error, ValueError) and type(error) is solution.TooLate",
        "try:\n    fail('key')\nexcept KeyError as error:\n    assert error.args == ('no', 3)",
        "try:\n    leave()\nexcept Exception as error:\n    assert 'SystemExit' in repr(error)",
    ],
)
def test_a_test_that_holds_in_one_process_passes(graded: Graded, statement: str) -> None:
    found = graded.one(PROGRAM, statement)
    assert (found.outcome, found.message) == ("passed", "")


@pytest.mark.parametrize(
    ("statement", "outcome", "message"),
    [
        ("assert double(2) == 5", "failed", "AssertionError"),
        ("assert Stack() == Stack()", "failed", "AssertionError"),
        ("assert Stack() == 5", "failed", "AssertionError"),
        ("assert 5 in [Stack()]", "failed", "AssertionError"),
        ("assert {Stack(): 1} == {5: 1}", "failed", "AssertionError"),
        ("Stack() + 5", "error", "TypeError"),
        ("5 < Stack()", "error", "TypeError"),
        ("apply(lambda x: x)", "error", "TypeError: a function cannot be passed to the tested program"),
        ("double(object())", "error", "TypeError: a object cannot be passed"),
        ("import copy\ncopy.deepcopy(Stack())", "error", "TypeError: an object of the program cannot be copied"),
        ("Stack().absent", "error", "AttributeError"),
        ("leave()", "error", "SystemExit: 0"),
        ("try:\n    crash()\nexcept BaseException:\n    pass", "crashed", "(exit code 3)"),
        ("import unittest\nraise unittest.SkipTest('later')", "failed", "skipped: later"),
        ("import os\nos._exit(0)", "error", "the test ended its process (exit code 0)"),
        ("import socket", "error", "ModuleNotFoundError: The module socket is not available"),
        ("open('/etc/passwd')", "error", "PermissionError"),
        ("while True: pass", "timeout", "no end within 1 s"),
        ("held = [0] * 10**9", "memory", "MemoryError"),
    ],
)
def test_a_test_that_does_not_hold_has_its_outcome(graded: Graded, statement: str, outcome: str, message: str) -> None:
    found = graded.one(PROGRAM, statement, timeout_ms=1_000)
    assert found.outcome == outcome
    assert message in found.message


UNITTEST = """
import unittest
from solution import double

class Base(unittest.TestCase):
    shared = []
    @classmethod
    def setUpClass(cls): cls.factor = 2
    def setUp(self): self.shared.append(1)

class DoublesTestCase(Base):
    pass

class TestDouble(Base, unittest.TestCase):
    def test_once(self): self.assertEqual(double(self.factor), 4); self.assertEqual(len(self.shared), 1)
    def test_again(self): self.assertEqual(len(self.shared), 1)
    def test_wrong(self): self.assertEqual(double(2), 5)
    def test_sub(self):
        for each in (1, 2):
            with self.subTest(each): self.assertEqual(double(each), 2)
    @unittest.skip("not now")
    def test_skipped(self): pass
    @unittest.expectedFailure
    def test_expected(self): self.fail()
    @unittest.expectedFailure
    def test_unexpected(self): pass
    def test_error(self): raise RuntimeError("x")
    def helper(self): pass

class NotOne:
    def test_ignored(self): pass
"""


def test_unittest_tests_run_alone_with_their_fixtures(graded: Graded) -> None:
    found = graded.results({"style": "unittest", "files": {"checks.py": UNITTEST}}, {"solution.py": PROGRAM})
    assert {each.name: each.outcome.value for each in found} == {
        "checks.py::TestDouble.test_once": "passed",
        "checks.py::TestDouble.test_again": "passed",
        "checks.py::TestDouble.test_wrong": "failed",
        "checks.py::TestDouble.test_sub": "failed",
        "checks.py::TestDouble.test_skipped": "failed",
        "checks.py::TestDouble.test_expected": "passed",
        "checks.py::TestDouble.test_unexpected": "failed",
        "checks.py::TestDouble.test_error": "error",
    }


def test_files_with_packages_and_helpers_are_imported_from_memory(graded: Graded) -> None:
    tests = {
        "style": "functions",
        "files": {
            "checks.py": "from helpers.data import EXPECTED\nfrom pack.sub import f\n"
            "def test_f(): assert f() == EXPECTED\n",
            "helpers/data.py": "EXPECTED = 5",
        },
    }
    program = {"pack/__init__.py": "", "pack/sub.py": "from .other import g\ndef f(): return g()",
               "pack/other.py": "def g(): return 5"}  # fmt: skip
    [only] = graded.results(tests, program)
    assert (only.name, only.outcome) == ("checks.py::test_f", "passed")


def test_a_file_without_test_functions_is_one_test(graded: Graded) -> None:
    tests = {"style": "functions", "files": {"a.py": "import solution\nassert solution.double(1) == 2",
                                             "b.py": "import solution\nassert solution.double(1) == 3"}}  # fmt: skip
    found = graded.results(tests, {"solution.py": PROGRAM})
    assert [(each.name, each.outcome) for each in found] == [("a.py", "passed"), ("b.py", "failed")]


@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        ("a, b = map(int, input().split())\nprint(a + b)", "passed"),
        ("import sys\na, b = map(int, sys.stdin.read().split())\nsys.stdout.write(str(a + b))", "passed"),
        ("import os\nos.write(1, b'5')\nos._exit(0)", "passed"),
        ("print(5)\nraise SystemExit", "passed"),
        ("if __name__ == '__main__':\n    print(5)", "passed"),
        ("print(5)\nraise SystemExit(1)", "error"),
        ("print(5)\n1 / 0", "error"),
        ("print(6)", "failed"),
        ("print(5, 5)", "failed"),
        ("", "failed"),
        ("import os\nos._exit(0)", "failed"),
        ("while True: print('x' * 10_000)", "failed"),
        ("print(5, flush=True)\nwhile True: pass", "timeout"),
        ("import os\nos.close(1)\nwhile True: pass", "timeout"),
        ("import time\ntime.sleep(100)", "timeout"),
        ("this is no Python", "error"),
        ("import sys\nprint(5 if sys.argv == ['solution.py'] == [__file__] else sys.argv)", "passed"),
        (
            "import threading, time\ndef late():\n    time.sleep(0.1); print(5)\nthreading.Thread(target=late).start()",
            "passed",
        ),
        ("import threading, time\nthreading.Thread(target=time.sleep, args=(9,)).start()\nprint(5)", "timeout"),
        ("import atexit\natexit.register(print, 5)", "passed"),
        ("import sys\nprint(5)\nsys.stdout.close()", "passed"),
        ("import sys\nprint(5, flush=True)\nsys.stdout = None", "passed"),
        ("import sys\nprint(5)\nsys.stdout = object()", "error"),
        ("import sys\nsys.__stdout__.write('5')", "passed"),
        ("out = open(1, 'w')\nout.write('5')", "passed"),
        ("import io, sys\nsys.stdout = io.TextIOWrapper(sys.stdout.detach())\nprint(5)", "passed"),
        ("import argparse\nprint(argparse.ArgumentParser().parse_args([]) and 5)", "passed"),
        ("import os\nprint(5 if os.path.isabs(os.path.abspath(__file__)) else 0)", "passed"),
    ],
)
def test_a_program_runs_on_standard_input_and_output(graded: Graded, code: str, outcome: str) -> None:
    tests = {"style": "io", "cases": [{"stdin": "2 3\n", "stdout": "5\n"}], "timeout_ms": 1_500}
    [only] = graded.results(tests, {"solution.py": code})
    assert only.outcome == outcome, only


@pytest.mark.parametrize("code", ["import sys\nprint(len(sys.stdin.read()))", "print(300_000)"])
def test_input_larger_than_a_pipe_is_read_or_left(graded: Graded, code: str) -> None:
    tests = {"style": "io", "cases": [{"stdin": "x" * 300_000, "stdout": "300000"}]}
    [only] = graded.results(tests, {"solution.py": code})
    assert only.outcome == "passed", only


def test_a_program_that_ends_by_a_signal_has_crashed(graded: Graded) -> None:
    code = "import sys\nsys.setrecursionlimit(10**8)\ndef f(x): return list(map(f, [x]))\nf(1)"
    [only] = graded.results({"style": "io", "cases": [{"stdout": ""}]}, {"solution.py": code})
    assert (only.outcome, only.message) == ("crashed", "the program ended by signal 11")


@pytest.mark.parametrize(
    ("match", "output", "expected", "is_match"),
    [
        ("exact", "a b", "a b\n", True),
        ("exact", "a b\n\n", "a b\n", False),
        ("exact", "a  b", "a b", False),
        ("tokens", " a\n b ", "a b", True),
        ("tokens", "a", "a b", False),
        ("float", "1.0000001 x", "1 x", True),
        ("float", "1.00001", "1", False),
        ("float", "1000000.5", "1000000", True),
        ("float", "nan", "nan", True),
        ("float", "1e999", "1", False),
        ("float", "y", "x", False),
    ],
)
def test_outputs_are_compared_by_the_case(
    graded: Graded, match: str, output: str, expected: str, is_match: bool
) -> None:
    tests = {"style": "io", "cases": [{"stdout": expected, "match": match}]}
    [only] = graded.results(tests, {"solution.py": f"print({output!r}, end='')"})
    assert only.outcome == ("passed" if is_match else "failed")


def test_a_test_that_does_not_begin_in_time_is_a_timeout(graded: Graded) -> None:
    tests = "".join(f"def test_{each}(): loop()\n" for each in range(3))
    code = "def loop():\n    while True: pass"
    assert set(graded.functions(code, tests, timeout_ms=700, total_ms=1_000).values()) == {"timeout"}


def test_a_killed_zygote_is_replaced_and_the_test_runs_once_more(graded: Graded) -> None:
    assert graded.one(PROGRAM, "assert double(1) == 2").outcome == "passed"
    zygote = graded.runner._zygote
    assert zygote is not None
    zygote.close()
    assert graded.one(PROGRAM, "assert double(1) == 2").outcome == "passed"
