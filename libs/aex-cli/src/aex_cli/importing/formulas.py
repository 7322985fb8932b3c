"""Formulas that combine graders' scores, read as weighted means without running them."""

import ast
from collections.abc import Collection, Mapping
from fractions import Fraction

from aex_cli.importing.checks import NotTranslatable

_MAX_LENGTH = 10_000
_OTHER = "formula"
_CONSTANT = ""
"""Key of the constant part of a linear formula."""
_TOLERANCE = Fraction(1, 10**9)

Linear = dict[str, Fraction]


def read_weighted_mean(formula: str, names: Collection[str]) -> Mapping[str, Fraction]:
    """Return the weight of each grader in a formula such as `0.8 * a + 0.2 * b` or `(a + b) / 2`.

    Raises `NotTranslatable` unless the formula is a weighted mean of the named graders: positive weights with sum 1.
    """
    try:
        tree = ast.parse(formula[:_MAX_LENGTH].strip(), mode="eval")
        linear = _read(tree.body, names)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        if isinstance(error, NotTranslatable):
            raise
        raise NotTranslatable(_OTHER, "calculate_output is no formula of + - * / and graders' names") from None
    weights = {name: weight for name, weight in linear.items() if weight}
    is_mean = _CONSTANT not in weights and all(weight > 0 for weight in weights.values())
    if not is_mean or abs(sum(weights.values(), Fraction()) - 1) > _TOLERANCE:
        raise NotTranslatable(_OTHER, "calculate_output is no weighted mean: its weights must be positive and sum to 1")
    return weights


def _read(node: ast.expr, names: Collection[str]) -> Linear:
    """Return a formula as the factor of each name, and its constant part under `_CONSTANT`.

    Raises `NotTranslatable`.
    """
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return {_CONSTANT: Fraction(repr(number))}
        case ast.Name(id=name) if name in names:
            return {name: Fraction(1)}
        case ast.UnaryOp(op=ast.UAdd()):
            return _read(node.operand, names)
        case ast.BinOp(op=ast.Add()):
            left, right = _read(node.left, names), _read(node.right, names)
            return {key: left.get(key, Fraction()) + right.get(key, Fraction()) for key in {**left, **right}}
        case ast.BinOp(op=ast.Mult() | ast.Div()):
            return _scale(_read(node.left, names), _read(node.right, names), divide=isinstance(node.op, ast.Div))
    raise NotTranslatable(_OTHER, "calculate_output has more than + * / and the names of its graders")


def _scale(left: Linear, right: Linear, *, divide: bool) -> Linear:
    if not divide and set(left) == {_CONSTANT}:
        left, right = right, left
    if set(right) != {_CONSTANT} or (divide and not right[_CONSTANT]):
        raise NotTranslatable(_OTHER, "calculate_output is not linear in the graders' scores")
    factor = 1 / right[_CONSTANT] if divide else right[_CONSTANT]
    return {key: weight * factor for key, weight in left.items()}
