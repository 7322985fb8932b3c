from pathlib import Path

from aex_models.examination import DataProblem, Fault
from aex_models.statistics import StatisticSpec
from aex_outcomes import SourceFile, recompute
from tests.libs.outcomes.science.raw_data import AGENT, CONSUMER, spec, written

ABOVE = [{"column": "z", "op": "gt", "value": 0}]


def problem(expected: StatisticSpec, *files: SourceFile) -> DataProblem:
    found = recompute(files, [expected])
    assert found.values == ()
    (one,) = [each for each in found.problems if each.name == expected.name]
    return one


def test_a_forged_file_never_serves_where_own_data_have_one_of_the_columns(tmp_path: Path) -> None:
    forged = written(tmp_path, "data.csv", "x,z\n11,1\n")
    own = written(tmp_path, "own.csv", "x,hidden\n1,2\n", CONSUMER)
    found = problem(spec(where=ABOVE), own, forged)
    assert (found.code, found.fault, found.artifact, found.secret) == (
        "column_missing", Fault.PLATFORM, "own.csv", True,
    )  # fmt: skip
    assert "hidden" not in found.message


def test_columns_in_two_own_files_are_the_platforms_fault(tmp_path: Path) -> None:
    own = [written(tmp_path, f"{name}.csv", f"{name}\n1\n", CONSUMER) for name in ("x", "z")]
    found = problem(spec(where=ABOVE), *own, written(tmp_path, "a.csv", "x,z\n9,9\n"))
    assert (found.code, found.fault) == ("column_missing", Fault.PLATFORM)


def test_what_own_data_have_nothing_of_is_the_agents_to_send(tmp_path: Path) -> None:
    own = written(tmp_path, "own.csv", "hidden\n1\n", CONSUMER)
    none = problem(spec(where=ABOVE), own)
    assert (none.code, none.fault, none.artifact) == ("artifact_missing", Fault.AGENT, None)
    assert 'send a file with the columns "x", "z"' in none.message
    half = problem(spec(where=ABOVE), own, written(tmp_path, "a.csv", "x,mine\n1,2\n"))
    assert (half.code, half.fault, half.artifact) == ("column_missing", Fault.AGENT, "a.csv")
    assert '"mine"' in half.message
    assert "hidden" not in none.message + half.message
    found = recompute([own, written(tmp_path, "b.csv", "x,z\n5,1\n")], [spec(where=ABOVE)])
    assert [(each.value, each.owner) for each in found.values] == [(5, AGENT)]


def test_named_file_serves_and_the_consumers_first(tmp_path: Path) -> None:
    lacking = written(tmp_path, "data.csv", "hidden\n1\n", CONSUMER)
    found = problem(spec(artifact="data.csv"), lacking, written(tmp_path, "data.csv", "x\n9\n"))
    assert (found.code, found.fault) == ("column_missing", Fault.PLATFORM)
    assert "hidden" not in found.message
    own = written(tmp_path, "own.csv", "x\n1\n", CONSUMER)
    agent_file = written(tmp_path, "theirs.csv", "x\n7\n")
    assert [each.value for each in recompute([own, agent_file], [spec(artifact="theirs.csv")]).values] == [7]
    gone = problem(spec(artifact="theirs.csv"), own)
    assert (gone.code, gone.fault) == ("artifact_missing", Fault.AGENT)
    assert 'send a file with the columns "x"' in gone.message


def test_agents_files_that_nothing_needs_are_not_looked_at(tmp_path: Path) -> None:
    own = written(tmp_path, "own.csv", "x\n1\n", CONSUMER)
    found = recompute([written(tmp_path, "bad.csv", b"\x1f\x8b"), own], [spec()])
    assert ([each.value for each in found.values], found.problems) == ([1], ())
