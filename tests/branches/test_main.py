import pytest

from tests.branches.__main__ import main
from tests.branches.measured import PARTS


def test_unknown_part_is_refused_with_the_known_parts(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as refused:
        main(["aex_models", "aex_dreams"])
    assert refused.value.code == 2
    error = capsys.readouterr().err
    assert "aex_dreams: unknown" in error
    assert all(part.package in error for part in PARTS)


@pytest.mark.slow
def test_part_is_measured_by_its_own_tests(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["aex_work_publisher.rules"]) == 0
    output = capsys.readouterr()
    assert "aex_work_publisher.rules" in output.out
    assert "aex_models" not in output.out
    assert output.err.startswith("aex_work_publisher.rules: ")
