from pathlib import Path

from aex_cli.suite.logs import KEEP_BYTES, begin_run, tail


def test_the_tail_shows_the_last_lines_of_this_run_alone(tmp_path: Path) -> None:
    log = tmp_path / "settlement.log"
    log.write_text("an older run\n")
    start = begin_run(log)
    with log.open("a") as file:
        file.writelines(f"line {number}\n" for number in range(30))
    assert tail(log, start).splitlines() == [f"line {number}" for number in range(10, 30)]
    assert tail(log, start, lines=100).splitlines()[0] == "line 0"


def test_a_run_that_wrote_nothing_has_an_empty_tail(tmp_path: Path) -> None:
    assert begin_run(tmp_path / "x.log") == 0
    assert tail(tmp_path / "x.log", 0) == ""


def test_bytes_that_are_no_text_do_not_spoil_the_tail(tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    log.write_bytes(b"\xff\xfe ok\n")
    assert tail(log, 0).endswith("ok")


def test_a_large_log_is_set_aside_between_runs(tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    log.write_bytes(b"x" * KEEP_BYTES)
    assert begin_run(log) == KEEP_BYTES
    with log.open("ab") as file:
        file.write(b"x")
    assert begin_run(log) == 0
    assert not log.exists()
    assert (tmp_path / "x.log.1").stat().st_size == KEEP_BYTES + 1
