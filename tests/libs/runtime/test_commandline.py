from pathlib import Path

import pytest

from aex_runtime.command_backends import (
    has_store,
    open_service_backends,
    read_settings,
    read_suite_settings_and_configure_logging,
)
from aex_runtime.commandline import CommandFailed, write_rows_to_stdout
from tests.store.contract import WORKS


def test_store_url_needs_no_data_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AEX_STORE_URL", f"sqlite:///{tmp_path}/books.sqlite3")
    settings = read_suite_settings_and_configure_logging(tmp_path / "nowhere")
    assert not has_store(settings, "settlement")
    (tmp_path / "books.sqlite3").touch()
    assert has_store(settings, "settlement")


async def test_failing_store_is_a_command_failure(tmp_path: Path) -> None:
    (tmp_path / "settlement").mkdir()
    (tmp_path / "settlement" / "store.sqlite3").write_text("this is no database")
    with pytest.raises(CommandFailed, match=r"settlement: .*retry"):
        async with open_service_backends(read_settings(tmp_path), "settlement") as backends:
            await backends.store.get(WORKS, "w1")


ROWS: list[dict[str, object]] = [{"id": "dl_1", "reason": "bad\tdata\nhere [red]"}, {"id": "dl_2", "reason": None}]


def test_piped_rows_are_tab_separated(capsys: pytest.CaptureFixture[str]) -> None:
    write_rows_to_stdout(["id", "reason"], ROWS)
    assert capsys.readouterr().out == "id\treason\ndl_1\tbad data here [red]\ndl_2\t\n"


def test_terminal_table_escapes_markup(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    write_rows_to_stdout(["id", "reason"], ROWS)
    out = capsys.readouterr().out
    assert "┃" in out
    assert "[red]" in out
