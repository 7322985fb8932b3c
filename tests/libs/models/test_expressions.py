from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_models.expressions import (
    FUNCTIONS,
    MAX_CHARACTERS,
    MAX_DEPTH,
    ColumnReference,
    Constant,
    InvalidExpression,
    Operation,
    find_column_names,
    parse_expression,
)


def refusal(text: str) -> str:
    with pytest.raises(InvalidExpression) as refused:
        parse_expression(text)
    return str(refused.value)


def test_expression_is_a_tree_of_numbers_columns_and_operations() -> None:
    x, y = ColumnReference("x"), ColumnReference("y")
    assert parse_expression("x") == x
    assert parse_expression(" -x + 2 ") == Operation("+", (Operation("-", (x,)), Constant(2.0)))
    assert parse_expression("+x") == x
    assert parse_expression("x - y * 1.5e-3") == Operation("-", (x, Operation("*", (y, Constant(0.0015)))))
    assert parse_expression('log2(col("odd name, \\"x\\"") / y)') == Operation(
        "log2", (Operation("/", (ColumnReference('odd name, "x"'), y)),)
    )
    assert parse_expression("max(x, y, 0)") == Operation("max", (x, y, Constant(0.0)))
    assert parse_expression("log") == ColumnReference("log")


def test_columns_are_named_once_each_in_order() -> None:
    assert find_column_names(parse_expression('y + x * y / col("z z")')) == ("y", "x", "z z")


@pytest.mark.parametrize("function", FUNCTIONS)
def test_function_takes_as_many_arguments_as_it_needs(function: str) -> None:
    several = FUNCTIONS[function] > 1
    assert isinstance(parse_expression(f"{function}(x, y)" if several else f"{function}(x)"), Operation)
    assert f"{function} takes" in refusal(f"{function}(x)" if several else f"{function}(x, y)")
    assert f"{function} takes" in refusal(f"{function}() + x")


@pytest.mark.parametrize(
    ("text", "report"),
    [
        ("", "no arithmetic expression"),
        ("x +", "no arithmetic expression"),
        ("x; y", "no arithmetic expression"),
        ("x = 1", "no arithmetic expression"),
        ("x\x00", "no arithmetic expression"),
        ("\ud800", "no arithmetic expression"),
        ("(" * 400, "no arithmetic expression"),
        ("1 + 1", "Name at least one column"),
        ("True + x", "True and False"),
        ("'x' + y", "Only numbers"),
        ("x ** 2", "Only numbers"),
        ("x // 2", "Only numbers"),
        ("x % 2", "Only numbers"),
        ("x < y", "Only numbers"),
        ("x if y else 1", "Only numbers"),
        ("x.real", "Only numbers"),
        ("x[0]", "Only numbers"),
        ("[x]", "Only numbers"),
        ("lambda: x", "Only numbers"),
        ("f'{x}'", "Only numbers"),
        ("1j * x", "Only numbers"),
        ("None", "Only numbers"),
        ("...", "Only numbers"),
        ("not x", "Only numbers"),
        ("(x := 1)", "Only numbers"),
        ("[x for x in y]", "Only numbers"),
        ("log(*x)", "Only numbers"),
        ("log(x=1)", "Only numbers"),
        ("log(x)(y)", "Only numbers"),
        ("__import__('os').system('id')", "Only numbers"),
        ("eval(x)", "Unknown function; known here: log, log2"),
        ("lg2(x)", "did you mean log2"),
        ("col(x)", "in quotes"),
        ("col('')", "in quotes"),
        ("col('a', 'b')", "in quotes"),
        ("col(1)", "in quotes"),
        ("1e999 * x", "larger than any double"),
        (f"{'9' * 400} * x", "larger than any double"),
        ("ﬁtness * 2", 'in quotes: col("…")'),
        ("µ + 1", 'in quotes: col("…")'),
        ("x" * (MAX_CHARACTERS + 1), f"{MAX_CHARACTERS} characters"),
    ],
)
def test_other_text_is_refused_with_a_fix(text: str, report: str) -> None:
    assert report in refusal(text)


def test_letters_that_the_parser_changes_are_possible_in_quotes() -> None:
    assert parse_expression('col("ﬁtness")') == ColumnReference("ﬁtness")
    assert parse_expression("größe") == ColumnReference("größe")


def test_depth_is_bounded() -> None:
    deepest = "-" * (MAX_DEPTH - 1) + "x"
    assert find_column_names(parse_expression(deepest)) == ("x",)
    assert f"More than {MAX_DEPTH}" in refusal(f"-{deepest}")
    assert f"More than {MAX_DEPTH}" in refusal("+".join(["x"] * (MAX_DEPTH + 1)))
    assert find_column_names(parse_expression("+".join(["x"] * MAX_DEPTH))) == ("x",)


@given(st.text(max_size=60))
def test_any_text_is_parsed_or_refused(text: str) -> None:
    with suppress(InvalidExpression):
        assert find_column_names(parse_expression(text))


@given(st.text(min_size=1, max_size=30))
def test_any_name_can_be_quoted(name: str) -> None:
    try:
        quoted = repr(name)
        quoted.encode()
    except UnicodeEncodeError:
        return
    assert parse_expression(f"col({quoted})") == ColumnReference(name)
