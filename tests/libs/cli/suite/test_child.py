from pathlib import Path

from aex_cli.suite.child import KEEP_BYTES, read_log_tail, rotate_large_log


def test_tail_returns_the_last_lines_of_the_present_run(tmp_path: Path) -> None:
    log = tmp_path / "settlement.log"
    assert rotate_large_log(log) == 0
    assert read_log_tail(log, 0) == ""
    log.write_bytes(b"\xff\xfe an older run\n")
    assert read_log_tail(log, 0).endswith("an older run")
    start = rotate_large_log(log)
    with log.open("a") as file:
        file.writelines(f"line {number}\n" for number in range(30))
    assert read_log_tail(log, start).splitlines() == [f"line {number}" for number in range(10, 30)]
    assert read_log_tail(log, start, lines=100).splitlines()[0] == "line 0"


def test_large_log_is_rotated_between_runs(tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    log.write_bytes(b"x" * KEEP_BYTES)
    assert rotate_large_log(log) == KEEP_BYTES
    with log.open("ab") as file:
        file.write(b"x")
    assert rotate_large_log(log) == 0
    assert not log.exists()
    assert (tmp_path / "x.log.1").stat().st_size == KEEP_BYTES + 1
