import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from aex_runtime import files


def test_new_directory_is_private_and_has_its_version(tmp_path: Path) -> None:
    path = files.ensure_data_dir(tmp_path / "deep" / "data")
    assert (path / "version").read_text() == f"{files.LAYOUT_VERSION}\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o700
    assert files.ensure_data_dir(path) == path


async def test_free_bytes_are_rounded_and_need_an_existing_directory(tmp_path: Path) -> None:
    free = await files.rounded_free_bytes(tmp_path)
    assert free >= 0
    assert free % 100_000_000 == 0
    with pytest.raises(FileNotFoundError):
        await files.rounded_free_bytes(tmp_path / "gone")


@pytest.mark.parametrize("content", ["", "1", "3", "2.5", "x" * 1_000])
def test_directory_of_another_version_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "version").write_text(content)
    with pytest.raises(files.UnknownLayout, match=r"layout version .*: name another directory"):
        files.ensure_data_dir(tmp_path)
    assert (tmp_path / "version").read_text() == content


def test_one_of_many_callers_creates_the_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with ThreadPoolExecutor(16) as pool:
        made = list(
            pool.map(lambda number: files.create_file_once(path, str(number).encode() * 5_000, 0o600), range(64))
        )
    assert sum(made) == 1
    content = path.read_text()
    assert content == content[: len(content) // 5_000] * 5_000
    assert [each.name for each in tmp_path.iterdir()] == ["file"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_replaced_file_has_its_new_content_and_mode(tmp_path: Path) -> None:
    path = tmp_path / "file"
    files.replace_file(path, b"one", 0o600)
    files.replace_file(path, b"two", 0o644)
    assert path.read_bytes() == b"two"
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


def test_new_file_has_its_bytes_and_mode(tmp_path: Path) -> None:
    before = os.umask(0o777)
    try:
        os.close(files.create_and_open_file(tmp_path / "a", b"bytes", 0o640))
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640
    assert (tmp_path / "a").read_bytes() == b"bytes"
    files.sync_folder(tmp_path)
    with pytest.raises(FileExistsError):
        files.create_and_open_file(tmp_path / "a", b"second", 0o600)
    assert (tmp_path / "a").read_bytes() == b"bytes"
