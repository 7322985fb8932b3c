from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aex_models.domains import Domain
from aex_models.examination import DataOwner, Fault
from aex_models.numbers import JsonFloat
from aex_models.statistics import OF_SEVERAL_INPUTS, OF_TWO_COLUMNS, Statistic
from aex_outcomes import DomainRegistry, SourceFile, recompute
from aex_outcomes.science.reconcile import RoundingScale, reconcile
from tests.libs.outcomes.science.raw_data import AGENT, CONSUMER, CSV, recomputed, spec, written

DMS = DomainRegistry.load().get("bioinformatics/DMS")
OWN, FORGED = "x,y\n1,1\n3,3\n", "x,y,z\n10,1,7\n30,3,9\n"


def test_the_consumers_file_comes_before_the_agents(tmp_path: Path) -> None:
    files = [written(tmp_path, "data.csv", FORGED), written(tmp_path, "data.csv", OWN, CONSUMER)]
    found = recompute(files, [spec(), spec(name="named", artifact="data.csv"), spec(column="z", name="z")])
    assert [(each.name, each.value, each.owner) for each in found.values] == [
        ("it", 2, CONSUMER), ("named", 2, CONSUMER), ("z", 8, AGENT),
    ]  # fmt: skip
    assert found.problems == ()
    files = [written(tmp_path, "a.csv", "x\n1\n"), written(tmp_path, "b.csv", FORGED)]
    found = recompute(files, [spec(where=[{"column": "z", "op": "gt", "value": 7}]), spec(name="first")])
    assert [(each.artifact, each.value) for each in found.values] == [("b.csv", 30), ("a.csv", 1)]


def test_own_data_that_cannot_be_read_are_not_replaced_by_the_agents(tmp_path: Path) -> None:
    files = [written(tmp_path, "data.csv", FORGED), written(tmp_path, "own.csv", b"PK\x03\x04", CONSUMER)]
    found = recompute(files, [spec()])
    assert found.values == ()
    assert {(each.code, each.fault, each.artifact) for each in found.problems} == {
        ("not_csv", Fault.PLATFORM, "own.csv")
    }
    assert {each.name for each in found.problems} == {None, "it"}


@pytest.mark.parametrize(("cells", "expected"), [("high", "not_numeric"), ("", "no_rows"), ("nan", "not_finite")])
def test_own_data_that_serve_no_statistic_are_not_the_agents_fault(tmp_path: Path, cells: str, expected: str) -> None:
    files = [written(tmp_path, "data.csv", FORGED), written(tmp_path, "own.csv", f"x,i\n{cells},1\n", CONSUMER)]
    found = recompute(files, [spec()])
    assert [(each.code, each.fault) for each in found.problems] == [(expected, Fault.PLATFORM)]


def test_the_agents_broken_file_does_not_hide_another(tmp_path: Path) -> None:
    files = [written(tmp_path, "bad.csv", b"\x1f\x8b"), written(tmp_path, "data.csv", OWN)]
    found = recompute(files, [spec()])
    assert [each.value for each in found.values] == [2]
    assert [(each.code, each.name, each.artifact) for each in found.problems] == [("not_csv", None, "bad.csv")]


def test_a_row_that_is_ragged_is_a_problem_of_the_file_and_of_each_statistic(tmp_path: Path) -> None:
    found = recompute([written(tmp_path, "a.csv", "x\n1\n2,3\n")], [spec(), spec("max", name="max")])
    assert [(each.code, each.name) for each in found.problems] == [
        ("ragged_rows", None), ("ragged_rows", "it"), ("ragged_rows", "max"),
    ]  # fmt: skip
    assert "data row 2" in found.problems[0].message


def test_missing_column_is_reported_with_existing_ones(tmp_path: Path) -> None:
    wide = ",".join(f"c{place}" for place in range(50))
    found = recompute([written(tmp_path, "a.csv", f"{wide}\n{'1,' * 49}1\n")], [spec(), spec(name="n", artifact="b")])
    assert [each.code for each in found.problems] == ["column_missing", "artifact_missing"]
    assert '"c19" and 30 more' in found.problems[0].message
    assert '"a.csv"' in found.problems[1].message
    assert [each.code for each in recompute([], [spec()]).problems] == ["artifact_missing"]
    gone = SourceFile("a.csv", CSV, str(tmp_path / "gone.csv"), DataOwner.CONSUMER)
    assert {(each.code, each.fault) for each in recompute([gone], [spec()]).problems} == {
        ("artifact_missing", Fault.PLATFORM)
    }


def test_domain_determines_default_statistics(tmp_path: Path) -> None:
    table = "mutant,mut_score,a,b,words,c,d,e,f\nA1C,-1,1,2,w,3,4,5,6\nA1D,0,1,2,v,3,4,5,6\n"
    found = recompute([written(tmp_path, "a.csv", table)], [], domain=DMS)
    assert {each.name: each.value for each in found.values} == {
        "mean_fitness": -0.5, "std_fitness": pytest.approx(0.5**0.5), "min_fitness": -1, "max_fitness": 0,
        "a_mean": 1, "b_mean": 2, "c_mean": 3, "d_mean": 4, "e_mean": 5,
    }  # fmt: skip
    assert {each.name for each in found.specs} == {each.name for each in found.values}


def test_without_a_domain_the_first_five_columns_of_numbers_have_means(tmp_path: Path) -> None:
    table = "words,a,b,c,d,e,f\nw,1,2,3,4,5,6\n"
    found = recompute([written(tmp_path, "a.csv", table)], [])
    assert [each.name for each in found.values] == ["a_mean", "b_mean", "c_mean", "d_mean", "e_mean"]
    assert recompute([], []).values == ()
    assert recompute([written(tmp_path, "a.csv", "word\nw\n")], []).values == ()
    assert recompute([written(tmp_path, "a.csv", "a\nw,2\n")], []).values == ()


def test_default_statistics_are_four_of_the_consumers_score_column(tmp_path: Path) -> None:
    domain = Domain(name="mine", description="d", common_columns=("score",))
    files = [written(tmp_path, "a.csv", "score\n11\n12\n"), written(tmp_path, "b.csv", "score\n1\n3\n", CONSUMER)]
    found = recompute(files, [], domain=domain)
    assert [each.name for each in found.values] == ["mean_score", "std_score", "min_score", "max_score"]
    assert {(each.owner, each.artifact) for each in found.values} == {(CONSUMER, "b.csv")}
    own = written(tmp_path, "own.csv", "word\nw\n", CONSUMER)
    assert recompute([own, files[0]], []).values == ()


def test_scales_say_what_zero_is_and_what_rounding_explains(tmp_path: Path) -> None:
    file = written(tmp_path, "a.csv", "x,y\n-4,1\n2,3\n")
    of_one, of_two = set(Statistic) - OF_SEVERAL_INPUTS, sorted(OF_TWO_COLUMNS - {Statistic.BH_MAX_ERROR})
    specs = [spec(each, name=each, q=0.5 if each == "quantile" else None) for each in sorted(of_one)]
    found = recompute([file], [*specs, *(spec(each, ("x", "y"), name=each) for each in of_two)])
    values = RoundingScale(zero=4e-9)
    correlation = RoundingScale(1e-9, 1e-13)
    assert found.scales == {
        **dict.fromkeys(["std", "var", "min", "max", "median", "quantile"], values),
        **dict.fromkeys(["pearson", "spearman", "r_squared"], correlation),
        **dict.fromkeys(["count", "n_unique"], RoundingScale()),
        "mean": RoundingScale(4e-9, 4e-13),
        "sum": RoundingScale(4e-9, 8e-13),
        "slope": RoundingScale(float(Fraction(1, 3 * 10**9)), float(Fraction(1, 3 * 10**13))),
    }


CANCELLING = "x\n0.1\n0.2\n-0.3\n"
SMALL = "x\n0.9\n1e-50\n1.0\n"
UNRELATED = "x,y\n0,1\n1,-1\n2,-1\n3,1\n"


@pytest.mark.parametrize(
    ("table", "stat", "claim", "status"),
    [
        (CANCELLING, "mean", "1.850371707708594e-17", "match"),  # numpy's; 9e-18 is exact
        (CANCELLING, "mean", "1e-12", "mismatch"),
        (SMALL, "min", "9e-14", "mismatch"),
        (SMALL, "min", "1.0e-50", "match"),
        (SMALL, "min", "0", "match"),  # nothing, beside 1
        ("x\n-9e-14\n1\n", "min", "9e-14", "mismatch"),
        ("x\n-0.4\n-0.39\n-0.38\n1e15\n", "median", "11.17", "mismatch"),
        ("x\n1700000000\n1700000001\n1700000005\n", "var", "250000", "mismatch"),
        ("x\n100000\n100001\n100002\n", "var", "0", "mismatch"),
        ("x\n1\n1\n", "std", "0", "match"),
        ("x\n1\n1\n", "std", "1e-17", "mismatch"),
        ("x\n1e10\n2e10\n", "count", "0", "mismatch"),
        (UNRELATED, "pearson", "3e-17", "match"),
        (UNRELATED, "pearson", "1e-12", "mismatch"),
        (UNRELATED, "r_squared", "0", "match"),
        ("x,y\n0,1e9\n1,-1e9\n2,-1e9\n3,1e9\n", "slope", "1e-5", "match"),
        ("x,y\n0,1e9\n1,-1e9\n2,-1e9\n3,1e9\n", "slope", "0.1", "mismatch"),
        ("x,y\n0,17e17\n1,1700000000000001024\n2,1700000000000002048\n", "slope", "-1024", "mismatch"),
    ],
)
def test_claim_may_differ_by_rounding_only_where_summands_cancel(
    tmp_path: Path, table: str, stat: str, claim: str, status: str
) -> None:
    found = recompute([written(tmp_path, "a.csv", table)], [spec(stat, ("x", "y") if table[1] == "," else "x")])
    (held,) = reconcile({"it": JsonFloat(claim)}, found.values, found.specs, scales=found.scales)
    assert (held.status.value, held.severity) == (status, None if status == "match" else "critical")


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=40), st.sampled_from(["mean", "sum", "min", "median"]))
@settings(max_examples=25, deadline=None)
def test_what_numpy_makes_of_the_values_always_matches(values: list[float], stat: str) -> None:
    cancelling = [*values, *(-each for each in values[1:])]
    found = recomputed("x\n" + "".join(f"{each!r}\n" for each in cancelling), spec(stat))
    claim = float(getattr(np, stat)(cancelling))
    (held,) = reconcile({"it": claim}, found.values, found.specs, scales=found.scales)
    assert held.status == "match"
