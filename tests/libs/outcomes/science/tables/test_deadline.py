import time
from pathlib import Path

import pytest

from aex_models.examination import Fault
from aex_outcomes import DataLimits, recompute
from aex_outcomes.science.tables.database import Deadline
from aex_outcomes.science.tables.file_checks import DataError
from tests.libs.outcomes.science.raw_data import CONSUMER, spec, written


def burn(cpu_seconds: float) -> None:
    end = time.process_time() + cpu_seconds
    while time.process_time() < end:
        pass


def test_deadline_counts_processor_time_while_it_runs() -> None:
    deadline = Deadline(0.04)
    burn(0.05)
    deadline.raise_if_over()
    with deadline.count_time(), deadline.count_time():
        time.sleep(0.05)
        burn(0.025)
        deadline.raise_if_over()
    with deadline.count_time():
        burn(0.025)
        assert deadline.is_over
    with pytest.raises(DataError, match="longer than it may"):
        deadline.raise_if_over()


def test_agents_files_that_take_all_of_their_time_leave_the_consumers_all_of_its_own(tmp_path: Path) -> None:
    own = written(tmp_path, "own.csv", "x\n1\n3\n", CONSUMER)
    slow = [written(tmp_path, f"{place}.jsonl", '{"y":1}\n' * 200_000) for place in range(3)]
    specs = [spec(column="z", name="theirs"), spec()]
    found = recompute([*slow, own], specs, limits=DataLimits(cpu_seconds=0.3))
    assert [(each.name, each.value) for each in found.values] == [("it", 2)]
    assert {(each.code, each.fault) for each in found.problems} == {("timed_out", Fault.AGENT)}
