import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_outcomes.sandbox.port import FaultKind
from aex_outcomes.sandbox.subset import MODULES, check_code
from tests.libs.outcomes.sandbox.conftest import Pooled

EVALUATE = "\ndef evaluate(input, output, metadata): return 1\n"

REFUSED = {
    "del a name": "x = 1\ndel x",
    "del an item": "x = {}\nx[1] = 2\ndel x[1]",
    "yield": "def f():\n    yield 1",
    "yield from": "def f():\n    yield from [1]",
    "yield within an expression": "f = lambda: (yield)",
    "async for": "async def f():\n    async for x in y: pass",
    "async with": "async def f():\n    async with y: pass",
    "an async comprehension": "async def f(): return [x async for x in y]",
    "except*": "try: pass\nexcept* ValueError: pass",
    "inheritance": "class A: pass\nclass B(A): pass",
    "an exception of one's own": "class E(Exception): pass",
    "a metaclass": "class A(metaclass=type): pass",
    "a property": "class A:\n    @property\n    def x(self): return 1",
    "a class method": "class A:\n    @classmethod\n    def x(cls): return 1",
    "a class in a class": "class A:\n    class B: pass",
    "code in a class": "class A:\n    print(1)",
    "two variables of a class at once": "class A:\n    a, b = 1, 2",
    "@=": "x = 1\nx @= 2",
    "import *": "from math import *",
}
TAKEN = {
    "functions of every kind": "def f(a, /, b=1, *c, d, **e): return a\nasync def g(): return 1\nh = lambda *a: a",
    "closures": "def f():\n    n = 0\n    def g():\n        nonlocal n\n        n += 1\n        return n\n    return g",
    "decorators": "def d(f): return f\n@d\ndef g(): return 1",
    "comprehensions": "a = [x for x in [1] if x]\nb = {x for x in a}\nc = {x: 1 for x in a}\nd = sum(x for x in a)",
    "plain classes": "class A:\n    'doc'\n    x: int\n    y: int = 2\n    z = 1\n    def f(self): return 1\n    pass",
    "data classes": "from dataclasses import dataclass\n@dataclass\nclass A:\n    x: int = 1",
    "named tuples": "from collections import namedtuple\nP = namedtuple('P', 'a b')",
    "exceptions": "try: 1 / 0\nexcept (ValueError, ZeroDivisionError) as e: x = 1\nelse: x = 2\nfinally: y = 3",
    "with": "class C:\n    def __enter__(self): return 1\n    def __exit__(self, *a): return None\nwith C() as x: pass",
    "match": "match {'a': [1, 2]}:\n    case {'a': [x, *_]} if x: y = x\n    case _: y = 0",
    "walrus and conditions": "x = 1 if (y := 2) > 1 else 3",
    "unpacking": "a, *b = [1, 2, 3]\nc = [*b, *b]\nd = {**{'a': 1}}\nprint(*b, sep='')",
    "slices": "x = [1, 2, 3]\nx[0:1] = [5]\ny = x[::-1]",
    "formats": "x = f'{1:.2f}{2!r:>5}{3=}' + '{:>5}'.format(1) + '%d' % 1",
    "annotations": "from __future__ import annotations\nfrom typing import Any\nx: list[int] = []",
    "loops": "for i in range(3):\n    continue\nelse:\n    x = 1\nwhile False: pass",
    "coroutines": "import asyncio\nasync def f(): return await asyncio.sleep(0)\nasyncio.run(f())",
    "submodules": "import os.path\nfrom os.path import join",
}


def codes(code: str) -> set[str]:
    return {each.code for each in check_code(code)}


def expected_message(code: str) -> list[str]:
    return [each.message for each in check_code(code)]


@pytest.mark.parametrize("code", REFUSED.values(), ids=REFUSED)
@pytest.mark.asyncio(loop_scope="module")
async def test_what_is_refused_the_interpreter_refuses_too(sandbox: Pooled, code: str) -> None:
    assert codes(code + EVALUATE) == {"unsupported_construct"}
    assert (await sandbox.fault(code + EVALUATE)).kind is FaultKind.SYNTAX


@pytest.mark.parametrize("code", TAKEN.values(), ids=TAKEN)
@pytest.mark.asyncio(loop_scope="module")
async def test_what_is_taken_the_interpreter_runs(sandbox: Pooled, code: str) -> None:
    assert codes(code + EVALUATE) == set()
    assert (await sandbox.run(code + EVALUATE)).value == 1


@pytest.mark.asyncio(loop_scope="module")
async def test_the_modules_are_those_of_the_interpreter(sandbox: Pooled) -> None:
    own_end = MODULES - {"os.path", "__future__"}
    for module in [*sorted(sys.stdlib_module_names - {"__future__"}), "numpy", "pydantic"]:
        code = f"import {module}{EVALUATE}"
        if module in own_end:
            assert (await sandbox.run(code)).value == 1, module
        else:
            assert codes(code) == {"unsupported_import"}
            assert "ModuleNotFoundError" in (await sandbox.fault(code)).message, module


def test_every_problem_names_its_line() -> None:
    code = (
        "import numpy\nfrom os import *\nclass A(dict): pass\ndef f():\n    yield 1\ndel A\nfrom . import x" + EVALUATE
    )
    found = expected_message(code)
    assert [each.split(":")[0] for each in found] == [f"Line {number}" for number in (1, 2, 3, 5, 6, 7)]
    assert "numpy" in found[0]


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("def evaluate(i, o, m): return (1", "syntax_error"),
        ("x = '\ud800'" + EVALUATE, "syntax_error"),
        ("x = '\0'" + EVALUATE, "syntax_error"),
        ("-" * 200_000 + "1", "syntax_error"),
        ("x" + ".a" * 100_000, "syntax_error"),
        ("x" + "()" * 100_000, "syntax_error"),
        ("(" * 100_000, "syntax_error"),
        ("x = 1\n" * 50_000 + EVALUATE, "code_too_large"),
        ("return 1" + EVALUATE, "unsupported_construct"),
        ("x = 1", "no_evaluate_function"),
        ("", "no_evaluate_function"),
        ("def evaluate(): return 1", "no_evaluate_function"),
        ("def evaluate(i, o): return 1", "no_evaluate_function"),
        ("def evaluate(i, o, m, *, k): return 1", "no_evaluate_function"),
        ("def evaluate(i, o, m, n): return 1", "no_evaluate_function"),
        ("async def evaluate(i, o, m): return 1", "no_evaluate_function"),
        ("class A:\n    def evaluate(i, o, m): return 1", "no_evaluate_function"),
        ("def f():\n    def evaluate(i, o, m): return 1", "no_evaluate_function"),
    ],
)
def test_other_problems_are_named_too(code: str, kind: str) -> None:
    assert codes(code) == {kind}


@pytest.mark.parametrize(
    "code",
    [
        "def evaluate(*a): return 1",
        "def evaluate(i, o, m=None, n=1, *, k=2): return 1",
        "evaluate = lambda i, o, m: 1",
        "if True:\n    def evaluate(i, o, m): return 1",
        "def f(i, o, m): return 1\nevaluate = f",
        "def evaluate(i, o, m): return 1\ndef later(): return 1",
    ],
)
def test_every_function_that_can_be_called_will_do(code: str) -> None:
    assert codes(code) == set()


def test_what_the_sandbox_lacks_is_named_in_a_complete_sentence() -> None:
    assert expected_message("x = 1\ndel x" + EVALUATE) == [
        "Line 2: The sandbox's Python has no del statement (build a new list or dict, or use pop)"
    ]


def test_problems_are_listed_up_to_a_number() -> None:
    assert len(check_code("import numpy\n" * 1_000)) == 20


def test_a_text_of_many_parts_is_refused_before_python_reads_it() -> None:
    before = time.process_time()
    assert codes("x = f'" + "{1}" * 60_000 + "'" + EVALUATE) == {"code_too_large"}
    assert time.process_time() - before < 2
    assert codes("x = {" + "1: {}, " * 10_000 + "}" + EVALUATE) == set(), "data may have as many braces as it likes"


@given(st.text() | st.text("()[]{}:\n \tdefreturnx=1+-*/'\"\\"))
def test_any_text_is_checked_without_an_error(code: str) -> None:
    assert all(each.code and each.message for each in check_code(code))
