"""Which file a statistic is computed from, whose fault a problem is, and what is computed where nobody asks."""

from pathlib import Path

import pytest

from aex_models.domains import Domain
from aex_models.faults import Fault
from aex_models.science import DataOwner
from aex_models.statistics import Statistic
from aex_outcomes import DataLimits, DomainRegistry, SourceFile, recompute
from tests.libs.outcomes.science.raw_data import AGENT, CONSUMER, CSV, spec, written

DMS = DomainRegistry.load().get("bioinformatics/DMS")
OWN, FORGED = "x,y\n1,1\n3,3\n", "x,y,z\n10,1,7\n30,3,9\n"


def test_the_consumers_file_comes_before_the_agents(tmp_path: Path) -> None:
    files = [written(tmp_path, "data.csv", FORGED), written(tmp_path, "data.csv", OWN, CONSUMER)]
    found = recompute(files, [spec(), spec(name="named", artifact="data.csv"), spec(column="z", name="z")])
    assert [(each.name, each.value, each.owner) for each in found.values] == [
        ("it", 2, CONSUMER), ("named", 2, CONSUMER), ("z", 8, AGENT),
    ]  # fmt: skip
    assert found.problems == ()


def test_the_first_file_with_all_columns_serves(tmp_path: Path) -> None:
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


def test_what_is_missing_is_told_with_what_is_there(tmp_path: Path) -> None:
    wide = ",".join(f"c{place}" for place in range(50))
    found = recompute([written(tmp_path, "a.csv", f"{wide}\n{'1,' * 49}1\n")], [spec(), spec(name="n", artifact="b")])
    assert [each.code for each in found.problems] == ["column_missing", "artifact_missing"]
    assert '"c19" and 30 more' in found.problems[0].message
    assert '"a.csv"' in found.problems[1].message
    assert [each.code for each in recompute([], [spec()]).problems] == ["artifact_missing"]


def test_a_file_that_is_gone_is_missing(tmp_path: Path) -> None:
    gone = SourceFile("a.csv", CSV, str(tmp_path / "a.csv"), DataOwner.CONSUMER)
    found = recompute([gone], [spec()])
    assert {(each.code, each.fault) for each in found.problems} == {("artifact_missing", Fault.PLATFORM)}


def test_a_domain_says_what_is_computed_where_nobody_asks(tmp_path: Path) -> None:
    table = "mutant,mut_score,a,b,words,c,d,e,f\nA1C,-1,1,2,w,3,4,5,6\nA1D,0,1,2,v,3,4,5,6\n"
    found = recompute([written(tmp_path, "a.csv", table)], [], domain=DMS)
    assert {each.name: each.value for each in found.values} == {
        "mean_fitness": -0.5, "std_fitness": pytest.approx(0.5**0.5), "min_fitness": -1, "max_fitness": 0,
        "a_mean": 1, "b_mean": 2, "c_mean": 3, "d_mean": 4, "e_mean": 5,
    }  # fmt: skip
    assert {each.name for each in found.specs} == {each.name for each in found.values}


def test_without_a_domain_the_first_five_columns_of_numbers_have_means(tmp_path: Path) -> None:
    table = "odd name,words,a,b,c,d,e,f\n1,w,1,2,3,4,5,6\n"
    found = recompute([written(tmp_path, "a.csv", table)], [])
    assert [each.name for each in found.values] == ["a_mean", "b_mean", "c_mean", "d_mean", "e_mean"]
    assert recompute([], []).values == ()
    assert recompute([written(tmp_path, "a.csv", "word\nw\n")], []).values == ()
    assert recompute([written(tmp_path, "a.csv", "a\nw,2\n")], []).values == ()


def test_a_domain_without_recipes_has_four_of_its_score_column(tmp_path: Path) -> None:
    domain = Domain(name="mine", description="d", common_columns=("score",))
    found = recompute([written(tmp_path, "a.csv", "score\n1\n3\n")], [], domain=domain)
    assert [each.name for each in found.values] == ["mean_score", "std_score", "min_score", "max_score"]


def test_the_default_statistics_are_of_the_consumers_file(tmp_path: Path) -> None:
    files = [
        written(tmp_path, "a.csv", "mut_score\n11\n12\n"),
        written(tmp_path, "b.csv", "mut_score\n0\n-1\n", CONSUMER),
    ]
    found = recompute(files, [], domain=DMS)
    assert {(each.owner, each.artifact) for each in found.values} == {(CONSUMER, "b.csv")}


def test_scales_say_how_large_the_values_are(tmp_path: Path) -> None:
    file = written(tmp_path, "a.csv", "x,y\n-4,1\n2,3\n")
    specs = [spec(each.value, name=each.value) for each in (Statistic.MEAN, Statistic.VAR, Statistic.COUNT)]
    found = recompute([file], [*specs, spec("slope", ("x", "y"), name="slope")])
    assert found.scales == {"mean": 4, "var": 16, "count": 0, "slope": 0.75}


def test_limits_are_the_callers(tmp_path: Path) -> None:
    found = recompute([written(tmp_path, "a.csv", OWN)], [spec()], limits=DataLimits(max_columns=1))
    assert {each.code for each in found.problems} == {"too_many_columns"}
