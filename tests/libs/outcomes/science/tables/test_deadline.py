"""Time for the files of one owner: it passes while they are read, and for nobody else's."""

import time
from pathlib import Path

import pytest

from aex_models.faults import Fault
from aex_outcomes import DataLimits, recompute
from aex_outcomes.science.tables.database import Deadline
from aex_outcomes.science.tables.errors import DataError
from tests.libs.outcomes.science.raw_data import CONSUMER, spec, written


def burn(cpu_seconds: float) -> None:
    """Keep the processor busy."""
    end = time.process_time() + cpu_seconds
    while time.process_time() < end:
        pass


def test_time_passes_only_while_it_runs() -> None:
    deadline = Deadline(0.05)
    burn(0.06)
    deadline.check()
    with deadline.running(), deadline.running():
        burn(0.06)
        assert deadline.over
    assert deadline.over
    with pytest.raises(DataError, match="longer than it may"):
        deadline.check()


def test_time_that_was_left_is_there_when_it_runs_again() -> None:
    deadline = Deadline(0.1)
    for _ in range(2):
        assert not deadline.over
        with deadline.running():
            burn(0.06)
    assert deadline.over


def test_waiting_is_not_reading() -> None:
    deadline = Deadline(0.05)
    with deadline.running():
        time.sleep(0.1)
        deadline.check()


def test_agents_files_that_take_all_of_their_time_leave_the_consumers_all_of_its_own(tmp_path: Path) -> None:
    own = written(tmp_path, "own.csv", "x\n1\n3\n", CONSUMER)
    slow = [written(tmp_path, f"{place}.jsonl", '{"y":1}\n' * 200_000) for place in range(3)]
    specs = [spec(column="z", name="theirs"), spec()]
    found = recompute([*slow, own], specs, limits=DataLimits(cpu_seconds=0.3))
    assert [(each.name, each.value) for each in found.values] == [("it", 2)]
    assert {(each.code, each.fault) for each in found.problems} == {("timed_out", Fault.AGENT)}
