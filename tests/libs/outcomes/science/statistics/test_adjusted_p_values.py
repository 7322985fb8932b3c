from typing import Any

import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.libs.outcomes.science.raw_data import code, parquet, recomputed, spec, value

ALPHAS = (0.01, 0.05, 0.1, 1.0)


def csv_of(rows: list[tuple[float | None, float | None]]) -> str:
    cells = (["" if each is None else repr(each) for each in row] for row in rows)
    return "\n".join(["p,q,row", *(",".join([*each, str(row)]) for row, each in enumerate(cells)), ""])


def adjusted(p_values: list[float]) -> list[float]:
    return [float(each) for each in scipy.stats.false_discovery_control(p_values)]


P_VALUES = st.sampled_from([0.0, 1.0, 0.01, 0.02, 0.03, 0.05, 1e-300]) | st.floats(0, 1)
ROWS = st.lists(st.tuples(st.none() | P_VALUES, st.none() | P_VALUES), max_size=60)


@given(ROWS, st.sampled_from(ALPHAS) | st.floats(1e-6, 1))
@settings(max_examples=examples(1_000), deadline=None)
@pytest.mark.timeout(1_200)
@pytest.mark.slow
def test_adjusted_values_equal_scipys_on_random_tables_with_ties_and_gaps(
    rows: list[tuple[float | None, float | None]], alpha: float
) -> None:
    counted = spec("bh_count", "p", "count", alpha=alpha)
    found = recomputed(csv_of([*rows, (None, None)]), counted, spec("bh_max_error", ("p", "q"), "error"))
    values: dict[str, Any] = {each.name: each.value for each in found.values}
    p_values = [p for p, _ in rows if p is not None]
    both = [(p, q) for p, q in rows if p is not None and q is not None]
    assert {each.name for each in found.problems} == {
        name for name, given in (("count", p_values), ("error", both)) if not given
    }
    if p_values:
        assert values["count"] == sum(each <= alpha for each in adjusted(p_values))
    if both:
        expected = max(abs(q - each) for (_, q), each in zip(both, adjusted([p for p, _ in both]), strict=True))
        assert values["error"] == pytest.approx(expected, rel=1e-9, abs=1e-15)


def test_a_correct_adjustment_has_no_error() -> None:
    p_values = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.324, 0.4262, 0.5719, 1.0]
    rows: list[Any] = list(zip(p_values, adjusted(p_values), strict=True))
    assert value(csv_of(rows), spec("bh_max_error", ("p", "q"))) == 0
    assert value(csv_of(rows[::-1]), spec("bh_max_error", ("p", "q"))) == 0
    raw = value(csv_of([(p, p) for p in p_values]), spec("bh_max_error", ("p", "q")))
    assert raw == max(q - p for p, q in rows)
    assert value(csv_of(rows), spec("bh_count", "p", alpha=0.05)) == sum(q <= 0.05 for _, q in rows)
    assert value(csv_of(rows), spec("count", None, where=[{"column": "p", "op": "<", "value": 0.05}])) == 9


def test_where_chooses_the_family_of_tests() -> None:
    table = "p,kind\n0.01,a\n0.02,a\n0.9,b\n0.9,b\n"
    assert value(table, spec("bh_count", "p", alpha=0.03)) == 0
    assert value(table, spec("bh_count", "p", alpha=0.03, where=[{"column": "kind", "op": "eq", "value": "a"}])) == 2


@pytest.mark.parametrize("bad", ["1.01", "-0.01"])
def test_values_outside_0_and_1_are_no_p_values(bad: str) -> None:
    table = f"p,q\n0.5,0.5\n{bad},0.5\n"
    assert code(table, spec("bh_count", "p", alpha=0.05)) == "not_p_values"
    assert code(table, spec("bh_max_error", ("p", "q"))) == "not_p_values"


def test_a_column_of_integers_serves() -> None:
    file = parquet({"p": [0, 1, 1], "q": [0, 1, 0]})
    assert value(file, spec("bh_max_error", ("p", "q")), "a.parquet") == 1
    assert value(file, spec("bh_count", "p", alpha=0.5), "a.parquet") == 1
