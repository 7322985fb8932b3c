"""Files that are whole, or are not there."""

import os
import stat
from pathlib import Path

import pytest

from aex_runtime.durable_files import sync_folder, write_new


def test_a_new_file_has_its_bytes_and_its_mode_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o777)
    try:
        write_new(tmp_path / "a", b"whole", 0o640)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640
    assert (tmp_path / "a").read_bytes() == b"whole"
    sync_folder(tmp_path)


def test_a_file_that_is_there_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"first")
    with pytest.raises(FileExistsError):
        write_new(tmp_path / "a", b"second", 0o600)
    assert (tmp_path / "a").read_bytes() == b"first"


def test_a_file_is_no_folder_to_be_synced(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    with pytest.raises(NotADirectoryError):
        sync_folder(tmp_path / "a")
