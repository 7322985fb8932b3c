"""The command: it measures what it is asked for, and what it does not know it says."""

import pytest

from tests.branches.__main__ import main
from tests.branches.measured import PARTS


def test_a_part_that_there_is_not_is_refused_with_those_that_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as refused:
        main(["aex_models", "aex_dreams"])
    assert refused.value.code == 2
    told = capsys.readouterr().err
    assert "aex_dreams: no such part" in told
    assert all(part.package in told for part in PARTS)


@pytest.mark.slow
def test_a_part_is_measured_by_its_own_tests(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["aex_work_publisher.rules"]) == 0
    told = capsys.readouterr()
    assert "aex_work_publisher.rules" in told.out
    assert "aex_models" not in told.out
    assert told.err.startswith("aex_work_publisher.rules: ")
