from fractions import Fraction

import pytest

from aex_cli.importing.checks import NotTranslatable
from aex_cli.importing.formulas import read_weighted_mean


@pytest.mark.parametrize(
    ("formula", "weights"),
    [
        ("0.8 * a + 0.2 * b", {"a": "4/5", "b": "1/5"}),
        ("(a + b) / 2", {"a": "1/2", "b": "1/2"}),
        ("a", {"a": "1"}),
        ("(a + b + c) / 3", {"a": "1/3", "b": "1/3", "c": "1/3"}),
        ("0.5 * (a + b) * 0.5 + c / 2", {"a": "1/4", "b": "1/4", "c": "1/2"}),
        ("0.1*a + 0.2*b + 0.7*c", {"a": "1/10", "b": "1/5", "c": "7/10"}),
        ("a / 2 + a / 2", {"a": "1"}),
    ],
)
def test_weighted_means_have_weights(formula: str, weights: dict[str, str]) -> None:
    assert read_weighted_mean(formula, "abc") == {name: Fraction(weight) for name, weight in weights.items()}


@pytest.mark.parametrize(
    "formula",
    [
        "a + b", "0.5 * a", "a * b", "a / b", "min(a, b)", "a ^ 2", "a ** 2", "a - b", "1.5 * a + b * (0 - 0.5)",
        "0.5 * a + 0.5", "d", "", "a +", "a; b", "__import__('os')", "a if b else c", "a / 0",
        "(" * 500 + "a" + ")" * 500,
        "True * a", "1e999 * a",
    ],
)  # fmt: skip
def test_other_formulas_are_not_translated(formula: str) -> None:
    with pytest.raises(NotTranslatable) as raised:
        read_weighted_mean(formula, "abc")
    assert raised.value.kind == "formula"
