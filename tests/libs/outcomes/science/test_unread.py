"""A worker that was lost over files: the fault falls on whoever's file it may have been, the agent's first."""

from aex_models.faults import Fault
from aex_models.science import DataOwner
from aex_outcomes.science.source import SourceFile
from aex_outcomes.science.unread import CRASHED, OUT_OF_MEMORY, TIMED_OUT, blamed, left_to_read


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
