"""Arithmetic expressions over columns, such as `log2(x / col("odd name"))`: parsed, never evaluated.

The grammar is the part of Python's that `_parse_node` lists: numbers, columns, `+ - * /` and the functions below.
"""

import ast
import math
from collections.abc import Iterator
from dataclasses import dataclass

from aex_models.validation_messages import format_suggestion

MAX_CHARACTERS, MAX_DEPTH = 500, 20
FUNCTIONS = {"log": 1, "log2": 1, "log10": 1, "exp": 1, "sqrt": 1, "abs": 1, "min": 2, "max": 2}
"""Least number of arguments by function; only `min` and `max` take more. `log` is the natural logarithm."""
COLUMN_FUNCTION = "col"
_OPERATORS: dict[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
_KNOWN = (*FUNCTIONS, COLUMN_FUNCTION)


class InvalidExpression(ValueError):
    """An expression outside the grammar; the message says what to write."""


@dataclass(frozen=True, slots=True)
class Constant:
    """A finite constant."""

    value: float


@dataclass(frozen=True, slots=True)
class ColumnReference:
    """The value of a column in the same row."""

    name: str


@dataclass(frozen=True, slots=True)
class Operation:
    """An operator (`+ - * /`, with one operand for a sign) or a function of `FUNCTIONS`."""

    name: str
    operands: tuple["Expression", ...]


Expression = Constant | ColumnReference | Operation


def parse_expression(text: str) -> Expression:
    """Parse an expression over at least one column. Raises `InvalidExpression`."""
    if len(text) > MAX_CHARACTERS:
        raise InvalidExpression(f"An expression has at most {MAX_CHARACTERS} characters: derive parts of it as columns")
    stripped = text.strip()
    try:
        tree = ast.parse(stripped, mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        example = f'log2(treated / {COLUMN_FUNCTION}("control mean"))'
        raise InvalidExpression(f"This is no arithmetic expression; write one like {example}") from None
    found = _parse_node(tree.body, stripped, 1)
    if not find_column_names(found):
        raise InvalidExpression(f'Name at least one column, as x or {COLUMN_FUNCTION}("odd name")')
    return found


def find_column_names(expression: Expression) -> tuple[str, ...]:
    """Return the names of the columns that the expression reads, each once."""
    return tuple(dict.fromkeys(_find_names(expression)))


def _find_names(expression: Expression) -> Iterator[str]:
    if isinstance(expression, ColumnReference):
        yield expression.name
    elif isinstance(expression, Operation):
        for each in expression.operands:
            yield from _find_names(each)


def _parse_node(node: ast.expr, text: str, depth: int) -> Expression:
    if depth > MAX_DEPTH:
        raise InvalidExpression(f"More than {MAX_DEPTH} operations lie within each other: derive parts as columns")
    match node:
        case ast.Constant(value=bool()):
            raise InvalidExpression("True and False are no numbers")
        case ast.Constant(value=int() | float() as value):
            return Constant(_finite_number(value))
        case ast.Name(id=name):
            return ColumnReference(_plain_name(node, name, text))
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() as sign, operand=operand):
            found = _parse_node(operand, text, depth + 1)
            return Operation("-", (found,)) if isinstance(sign, ast.USub) else found
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _OPERATORS:
            operands = tuple(_parse_node(each, text, depth + 1) for each in (left, right))
            return Operation(_OPERATORS[type(operator)], operands)
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
            return _parse_call(name, arguments, text, depth)
    known = f"+ - * / and {', '.join(FUNCTIONS)}"
    raise InvalidExpression(f"Only numbers, columns, {known} are possible here")


def _parse_call(name: str, arguments: list[ast.expr], text: str, depth: int) -> Expression:
    if name == COLUMN_FUNCTION:
        match arguments:
            case [ast.Constant(value=str() as column)] if len(column) > 0:
                return ColumnReference(column)
        raise InvalidExpression(
            f'{COLUMN_FUNCTION} takes the name of a column in quotes: {COLUMN_FUNCTION}("odd name")'
        )
    least = FUNCTIONS.get(name)
    if least is None:
        suggestion = format_suggestion(name, _KNOWN)
        raise InvalidExpression(f"Unknown function{suggestion}; known here: {', '.join(_KNOWN)}")
    if len(arguments) < least or (least == 1 and len(arguments) > 1):
        required = "one argument" if least == 1 else f"{least} arguments or more"
        raise InvalidExpression(f"{name} takes {required}")
    return Operation(name, tuple(_parse_node(each, text, depth + 1) for each in arguments))


def _finite_number(value: float) -> float:
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise InvalidExpression("A number is larger than any double")
    return number


def _plain_name(node: ast.expr, name: str, text: str) -> str:
    """Return the name. Raises `InvalidExpression` if the name differs from the one in the text.

    Python's parser replaces letters such as ﬁ, so the name would refer to another column.
    """
    if ast.get_source_segment(text, node) != name:
        raise InvalidExpression(f'Put a column with such letters in quotes: {COLUMN_FUNCTION}("…")')
    return name
