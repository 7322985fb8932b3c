"""Operators and built-in functions work on objects of the program, but for what could deceive a test."""

import operator
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.libs.outcomes.testing.served import ServedProgram, serve

PROGRAM = """
class Number:
    def __init__(self, value): self.value = value
    def __matmul__(self, other): return [self.value, other.value]
    def double(self): return 2 * self.value
    def __format__(self, spec): return format(self.value, spec)
    def __round__(self, *digits): return round(self.value, *digits)
    def __bool__(self): return bool(self.value)

def delegate(name):
    method = f"__{name}__"
    def call(self, *others): return getattr(self.value, method)(*[each.value for each in others])
    setattr(Number, method, call)

for name in "add sub mul truediv floordiv mod divmod pow lshift rshift and or xor lt le gt ge".split(): delegate(name)
for name in "neg pos abs invert int float index str repr".split(): delegate(name)

class Half(Number):
    def __complex__(self): return complex(self.value)

class Items:
    def __init__(self, *items): self.items = list(items)
    def __len__(self): return len(self.items)
    def __iter__(self): return iter(self.items)
    def __reversed__(self): return reversed(self.items)
    def __getitem__(self, index): return self.items[index]
    def __setitem__(self, index, item): self.items[index] = item
    def __delitem__(self, index): del self.items[index]
    def __dir__(self): return ["length"]
    def __enter__(self): return self
    def __exit__(self, kind, error, traceback):
        self.items.append(None if kind is None else (kind.__name__, error.args))
        return kind is KeyError
"""


@pytest.fixture
def served() -> Iterator[ServedProgram]:
    with serve({"solution.py": PROGRAM}) as program:
        yield program


@pytest.fixture
def program(served: ServedProgram) -> Any:
    return served.load()


BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift", "and_", "or_", "xor")
COMPARISONS = ("lt", "le", "gt", "ge")


@pytest.mark.parametrize("name", [*BINARY, *COMPARISONS])
def test_an_operator_between_two_objects_runs_in_the_program(program: Any, name: str) -> None:
    apply = getattr(operator, name)
    assert apply(program.Number(12), program.Number(5)) == apply(12, 5)
    with pytest.raises(TypeError):
        apply(program.Number(12), 5)


def test_divmod_and_matrix_product_run_in_the_program(program: Any) -> None:
    assert divmod(program.Number(12), program.Number(5)) == (2, 2)
    assert program.Number(12) @ program.Number(5) == [12, 5]


UNARY: tuple[Callable[[Any], Any], ...] = (
    operator.neg, operator.pos, abs, operator.invert, int, float, operator.index, bool, str, repr, round,
)  # fmt: skip


@pytest.mark.parametrize("function", UNARY)
def test_a_function_of_one_object_runs_in_the_program(program: Any, function: Callable[[Any], Any]) -> None:
    assert function(program.Number(-3)) == function(-3)


def test_numbers_are_formatted_rounded_and_converted_by_the_program(program: Any) -> None:
    assert f"{program.Half(2.555):.1f}" == "2.6"
    assert round(program.Half(2.555), 1) == 2.6
    assert complex(program.Half(2.5)) == 2.5 + 0j


def test_items_are_read_and_changed_in_the_program(program: Any) -> None:
    items = program.Items(1, 2, 3)
    items[0] = 5
    del items[1]
    assert (len(items), items[0], list(items), list(reversed(items))) == (2, 5, [5, 3], [3, 5])
    assert 5 in items
    assert dir(items) == ["length"]


def test_a_context_of_the_program_reads_the_error_and_may_suppress_it(program: Any) -> None:
    items = program.Items()
    with items as entered:
        assert entered is items
    with items:
        operator.getitem({}, "a")
    with pytest.raises(ValueError, match="b"), items:
        raise ValueError("b")
    assert items.items == [None, ("KeyError", ("a",)), ("ValueError", ("b",))]


def test_classes_of_the_program_test_instances_and_subclasses(program: Any) -> None:
    half = program.Half(1)
    assert isinstance(half, program.Number)
    assert not isinstance(half, program.Items)
    assert not isinstance(1, program.Number)
    assert issubclass(program.Half, program.Number)
    assert not issubclass(program.Number, program.Half)


def test_a_method_is_called_by_its_name(served: ServedProgram, program: Any) -> None:
    assert served.client.apply("ask", program.Number(4), "double") == 8
    assert served.client.apply("ask", program.Number(4), "__lt__", program.Number(5)) is True
    with pytest.raises(AttributeError):
        served.client.apply("ask", program.Number(4), "__next__")


def test_an_object_is_compared_by_identity_and_never_copied(program: Any) -> None:
    number, other = program.Number(1), program.Number(1)
    assert [number, other].index(other) == 1
    assert number != other
    assert {number: 2}[number] == 2
    with pytest.raises(TypeError, match=r"cannot be copied or pickled \(Number\)"):
        pickle.dumps(number)
