"""The way from the command line into the store of a suite."""

from pathlib import Path

import pytest

from aex_runtime.commandline.embedded import backends_of, existing_suite, has_store, read_settings
from aex_runtime.commandline.errors import Failed, UserError
from tests.store.contract import WORKS


def test_a_directory_that_is_not_there_is_a_mistake_and_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no data directory") as raised:
        existing_suite(tmp_path / "nowhere")
    assert "--data-dir" in raised.value.text()
    assert list(tmp_path.iterdir()) == []


def test_with_a_store_elsewhere_no_directory_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AEX_STORE_URL", f"sqlite:///{tmp_path}/books.sqlite3")
    settings = existing_suite(tmp_path / "nowhere")
    assert not has_store(settings, "settlement")
    (tmp_path / "books.sqlite3").touch()
    assert has_store(settings, "settlement")


async def test_a_store_that_fails_is_nobodys_mistake(tmp_path: Path) -> None:
    (tmp_path / "settlement").mkdir()
    (tmp_path / "settlement" / "store.sqlite3").write_text("this is no database")
    with pytest.raises(Failed, match=r"settlement: .*try again"):
        async with backends_of(read_settings(tmp_path), "settlement") as backends:
            await backends.store.get(WORKS, "w1")
