"""A worker that was lost over files: the fault falls on whoever's file it may have been, the agent's first."""

from aex_models.examination import DataOwner, DataProblem, Examination
from aex_models.faults import Fault
from aex_outcomes.science.source import SourceFile
from aex_outcomes.science.unread import (
    CRASHED,
    OUT_OF_MEMORY,
    TIMED_OUT,
    blamed,
    left_to_read,
    starved,
    with_loss,
)


def file(owner: DataOwner, name: str = "scores.csv") -> SourceFile:
    return SourceFile(name=name, media_type="text/csv", path="/nowhere", owner=owner)


OWN, THEIRS = file(DataOwner.CONSUMER, "own.csv"), file(DataOwner.AGENT)


def test_the_agents_files_are_left_out_first_and_then_all() -> None:
    assert left_to_read([OWN, THEIRS]) == (OWN,)
    assert left_to_read([OWN]) == ()
    assert left_to_read([THEIRS]) == ()


def test_the_agent_is_to_blame_where_its_files_were_read_too() -> None:
    found = blamed([OWN, THEIRS], OUT_OF_MEMORY)
    assert (found.code, found.fault, found.artifact, found.name) == ("out_of_memory", Fault.AGENT, "scores.csv", None)
    assert blamed([OWN], TIMED_OUT).fault is Fault.PLATFORM


def test_of_several_suspects_none_is_named_and_each_code_says_what_to_do() -> None:
    problems = [blamed([THEIRS, file(DataOwner.AGENT, "b.csv")], code) for code in (OUT_OF_MEMORY, TIMED_OUT, CRASHED)]
    assert {each.artifact for each in problems} == {None}
    assert len({each.message for each in problems}) == 3
    assert all("send" in each.message for each in problems)


def test_only_own_data_that_were_too_much_are_starved() -> None:
    def found(code: str, fault: Fault) -> Examination:
        return Examination(problems=(DataProblem(code=code, message="m", fault=fault),))

    assert starved(found("timed_out", Fault.PLATFORM)) == "timed_out"
    assert starved(found("out_of_memory", Fault.PLATFORM)) == "out_of_memory"
    assert starved(found("timed_out", Fault.AGENT)) is None
    assert starved(found("not_csv", Fault.PLATFORM)) is None


def test_what_was_to_come_of_files_that_were_left_out_is_lost_and_not_missing() -> None:
    missing = [DataProblem(code=code, message="m", name=code) for code in ("artifact_missing", "column_missing")]
    ours = DataProblem(code="column_missing", message="m", name="x", fault=Fault.PLATFORM)
    constant = DataProblem(code="undefined", message="m", name="r")
    found = with_loss(Examination(problems=(*missing, ours, constant)), blamed([THEIRS], TIMED_OUT))
    assert [(each.code, each.name, each.fault) for each in found.problems] == [
        ("timed_out", None, Fault.AGENT),
        ("timed_out", "artifact_missing", Fault.AGENT),
        ("timed_out", "column_missing", Fault.AGENT),
        ("column_missing", "x", Fault.PLATFORM),
        ("undefined", "r", Fault.AGENT),
    ]
