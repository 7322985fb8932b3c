import math
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from aex_models.examination import Fault
from aex_models.science import Science
from aex_models.statistics import StatisticSpec
from aex_models.tables import DerivedColumn
from aex_outcomes import recompute
from aex_outcomes.science.confined import DataLimits
from aex_outcomes.science.examine import examine
from aex_outcomes.science.recompute import Recomputation
from tests.examples import examples
from tests.libs.outcomes.science.raw_data import CONSUMER, parquet, spec, written

TABLE = "treated,control,odd name,arm\n4,2,1,a\n9,3,,a\n8,0,5,b\n,1,7,b\n"


def derived(column: str, expression: str, artifact: str | None = None) -> DerivedColumn:
    return DerivedColumn(column=column, expression=expression, artifact=artifact)


def computed(
    tmp_path: Path, content: str | bytes, columns: list[DerivedColumn], *specs: StatisticSpec, name: str = "data.csv"
) -> Recomputation:
    return recompute([written(tmp_path, name, content)], specs, derived=columns)


def values(found: Recomputation) -> dict[str, float]:
    assert found.problems == ()
    return {each.name: each.value for each in found.values}


RATIO = derived("ratio", "treated / control")


def test_derived_column_serves_statistics_conditions_and_groups(tmp_path: Path) -> None:
    groups = [[{"column": "ratio", "op": "<", "value": 2.5}], [{"column": "ratio", "op": ">=", "value": 2.5}]]
    found = computed(
        tmp_path, TABLE, [RATIO],
        spec("mean", "ratio", "mean"),
        spec("count", "ratio", "count"),
        spec("count", None, "rows", where=[{"column": "ratio", "op": ">", "value": 2.5}]),
        spec("sum", "treated", "of_a", where=[{"column": "arm", "op": "eq", "value": "a"}, *groups[1]]),
        spec("slope", ("ratio", "treated"), "slope"),
        spec("mannwhitney_u", "treated", "u", groups=groups),
        spec("n_unique", "ratio", "unique"),
    )  # fmt: skip
    assert values(found) == {"mean": 2.5, "count": 2, "rows": 1, "of_a": 9, "slope": 5, "u": 0, "unique": 2}


def test_column_of_any_name_can_be_quoted(tmp_path: Path) -> None:
    nasty = 'a"; DROP TABLE cells; --'
    content = f'"{nasty.replace(chr(34), chr(34) * 2)}",x\n2,3\n'
    columns = [derived("y", f"col({nasty!r}) * x"), derived(f"{nasty}2", 'col("y") + 1')]
    found = computed(tmp_path, content, columns, spec("sum", "y", "y"), spec("sum", f"{nasty}2", "z"))
    assert values(found) == {"y": 6, "z": 7}


def test_expression_may_read_columns_that_are_derived_above_it(tmp_path: Path) -> None:
    columns = [RATIO, derived("log_ratio", "log2(ratio)"), derived("unused", 'log_ratio + col("odd name")')]
    found = computed(tmp_path, TABLE, columns, spec("max", "log_ratio", "max"), spec("sum", "ratio", "sum"))
    assert values(found) == {"max": math.log2(3), "sum": 5}


def test_many_columns_that_double_each_other_take_no_time(tmp_path: Path) -> None:
    columns = [derived(f"c{index}", f"c{index - 1} + c{index - 1}") for index in range(1, 21)]
    assert values(computed(tmp_path, "c0\n1\n", columns, spec("sum", "c20"))) == {"it": 2**20}


@pytest.mark.parametrize(
    ("expression", "count"),
    [
        ("1 / zero", 0),
        ("x / zero", 0),
        ("log(zero)", 0),
        ("log10(0 - x)", 0),
        ("sqrt(0 - x)", 0),
        ("exp(1000 * x)", 0),
        ("x * 1e308 * 10", 0),
        ("min(x, log(0 - x))", 0),
        ("max(x, sqrt(0 - x))", 0),
        ("max(x, 1 / zero)", 0),
        ("x + gap", 1),
        ("min(x, gap)", 1),
        ("abs(gap)", 1),
        ("min(x, zero, 3)", 2),
        ("x * strange", 1),
    ],
)
def test_result_that_is_not_finite_is_missing(tmp_path: Path, expression: str, count: int) -> None:
    content = "x,zero,gap,strange\n1,0,,nan\n2,0,5,1\n"
    found = computed(tmp_path, content, [derived("y", expression)], spec("count", "y"))
    assert values(found) == {"it": count}


def test_text_in_an_input_is_refused_where_the_row_counts(tmp_path: Path) -> None:
    content = "x,kind\nhigh,a\n2,b\n"
    columns = [derived("y", "x * 2")]
    found = computed(tmp_path, content, columns, spec("mean", "y"), spec("n_unique", "y", "n"))
    assert [(each.code, each.name) for each in found.problems] == [("not_numeric", "it"), ("not_comparable", "n")]
    assert 'column "y": 1, the first in data row 1' in found.problems[0].message
    of_b = [{"column": "kind", "op": "eq", "value": "b"}]
    assert values(computed(tmp_path, content, columns, spec("mean", "y", where=of_b))) == {"it": 4}


def test_integers_of_parquet_are_computed_as_doubles(tmp_path: Path) -> None:
    content = parquet({"x": [1, 3], "y": [2, 4], "word": ["a", "b"]})
    columns = [derived("z", "x / y - 1")]
    found = computed(tmp_path, content, columns, spec("sum", "z"), spec("max", "x", "x"), name="a.parquet")
    assert values(found) == {"it": -0.75, "x": 3}


def test_derived_column_may_be_of_one_file_alone(tmp_path: Path) -> None:
    files = [written(tmp_path, name, "x\n1\n") for name in ("a.csv", "b.csv")]
    columns = [derived("y", "x + 1", "b.csv")]
    found = recompute(files, [spec("sum", "y"), spec("sum", "y", "a", artifact="a.csv")], derived=columns)
    assert [(each.value, each.artifact) for each in found.values] == [(2, "b.csv")]
    assert [(each.code, each.name) for each in found.problems] == [("column_missing", "a")]


def test_own_column_never_stands_for_a_derived_one(tmp_path: Path) -> None:
    columns = [RATIO, derived("x", "x * 2")]
    forged = "ratio,x\n99,1\n"
    found = computed(tmp_path, forged, columns, spec("mean", "ratio"), spec("mean", "x", "x"))
    assert [(each.name, each.value) for each in found.values] == [("x", 2)]
    [problem] = found.problems
    assert (problem.code, problem.fault) == ("column_missing", Fault.AGENT)
    message = 'no column "treated", "control"; there are "x"; send a file with the columns "treated", "control"'
    assert problem.message == message
    [unsent] = recompute([], [spec("mean", "ratio")], derived=columns).problems
    assert unsent.message == 'no file came; send a file with the columns "treated", "control"'


def test_agents_file_does_not_replace_a_consumers_file_with_some_of_the_inputs(tmp_path: Path) -> None:
    own = written(tmp_path, "own.csv", "treated\n1\n", CONSUMER)
    sent = written(tmp_path, "sent.csv", TABLE)
    found = recompute([own, sent], [spec("mean", "ratio")], derived=[RATIO])
    assert found.values == ()
    assert [(each.code, each.fault) for each in found.problems] == [("column_missing", Fault.PLATFORM)]


def test_default_statistics_include_derived_columns(tmp_path: Path) -> None:
    found = recompute([written(tmp_path, "a.csv", "x,y\n1,2\n")], [], derived=[derived("z", "x + y")])
    assert {each.name: each.value for each in found.values} == {"x_mean": 1, "y_mean": 2, "z_mean": 3}


def test_derived_columns_are_part_of_the_works_science(tmp_path: Path) -> None:
    science = Science.model_validate(
        {
            "statistics": [{"name": "mean_ratio", "stat": "mean", "column": "ratio"}],
            "derived": [{"column": "ratio", "expression": "treated / control"}],
        }
    )
    file = written(tmp_path, "data.csv", TABLE)
    found = examine(science, None, {"mean_ratio": 2.5}, [file], DataLimits())
    assert [(each.name, each.status.value) for each in found.reconciliation] == [("mean_ratio", "match")]


Rendered = tuple[str, Callable[[float, float], float]]
"""Text of an expression, and its value by x and y in IEEE arithmetic."""


def logarithm(function: Callable[[float], float]) -> Callable[[float], float]:
    return lambda a: function(a) if a > 0 else math.nan if a < 0 or math.isnan(a) else -math.inf


FUNCTIONS: dict[str, Callable[[float], float]] = {
    "log": logarithm(math.log),
    "log2": logarithm(math.log2),
    "log10": logarithm(math.log10),
    "exp": lambda a: math.inf if a > 709.7 else math.exp(a),
    "sqrt": lambda a: math.nan if a < 0 else math.sqrt(a),
    "abs": abs,
}
OPERATORS: dict[str, Any] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "min": np.minimum, "max": np.maximum,
}  # fmt: skip
X: Rendered = ("x", lambda x, _: x)
Y: Rendered = ('col("y z")', lambda _, y: y)


def constant(number: float) -> Rendered:
    return repr(number), lambda *_: number


def call(name: str, inner: Rendered) -> Rendered:
    return f"{name}({inner[0]})", lambda x, y: FUNCTIONS[name](inner[1](x, y))


def operate(name: str, left: Rendered, right: Rendered) -> Rendered:
    text = f"{name}({left[0]}, {right[0]})" if name.isalpha() else f"({left[0]} {name} {right[0]})"
    return text, lambda x, y: float(OPERATORS[name](left[1](x, y), right[1](x, y)))


EXPRESSIONS = st.recursive(
    st.sampled_from([X, Y]) | st.floats(0, 100).map(constant),
    lambda inner: (
        st.builds(call, st.sampled_from(sorted(FUNCTIONS)), inner)
        | st.builds(operate, st.sampled_from(sorted(OPERATORS)), inner, inner)
    ),
    max_leaves=6,
)
NUMBERS = st.floats(-50, 50) | st.sampled_from([0.0, 1.0, -1.0])


@given(EXPRESSIONS, st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=5))
@settings(max_examples=examples(300), deadline=None)
@pytest.mark.slow
def test_expressions_equal_ieee_arithmetic(expression: Rendered, rows: list[tuple[float, float]]) -> None:
    text, evaluate = operate("+", operate("*", X, constant(0.0)), expression)
    assume(len(text) < 500)
    content = "\n".join(["x,y z,row", *(f"{x!r},{y!r},{row}" for row, (x, y) in enumerate(rows)), ""])
    of_row = [[{"column": "row", "op": "eq", "value": row}] for row in range(len(rows))]
    specs = [spec("sum", "d", f"r{row}", where=where) for row, where in enumerate(of_row)]
    with TemporaryDirectory() as folder, np.errstate(all="ignore"):
        found = computed(Path(folder), content, [derived("d", text)], *specs)
        expected = {f"r{row}": evaluate(x, y) for row, (x, y) in enumerate(rows)}
    finite = {name: each for name, each in expected.items() if math.isfinite(each)}
    assert {each.name: each.value for each in found.values} == pytest.approx(finite, rel=1e-9, abs=1e-300)
    assert {(each.name, each.code) for each in found.problems} == {
        (name, "no_rows") for name in expected.keys() - finite
    }
