import pytest

from aex_runtime.commandline.output import write_rows

ROWS: list[dict[str, object]] = [{"id": "dl_1", "reason": "bad\tdata\nhere [red]"}, {"id": "dl_2", "reason": None}]


def test_piped_rows_are_tab_separated_one_to_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    write_rows(["id", "reason"], ROWS)
    assert capsys.readouterr().out == "id\treason\ndl_1\tbad data here [red]\ndl_2\t\n"


def test_a_terminal_gets_a_table_whose_cells_are_no_markup(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    write_rows(["id", "reason"], ROWS)
    out = capsys.readouterr().out
    assert "┃" in out
    assert "[red]" in out
