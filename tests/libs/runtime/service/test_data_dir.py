"""The data directory knows its layout, and files in it are made whole by one process."""

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from aex_runtime.data_dir import LAYOUT_VERSION, UnknownLayout, free_bytes, open_data_dir, publish_once, replace_file


def test_a_new_directory_is_its_owners_alone_and_knows_its_version(tmp_path: Path) -> None:
    path = open_data_dir(tmp_path / "deep" / "data")
    assert (path / "version").read_text() == f"{LAYOUT_VERSION}\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o700
    assert open_data_dir(path) == path


async def test_the_room_on_its_disk_can_be_told_but_not_of_one_that_is_gone(tmp_path: Path) -> None:
    assert await free_bytes(tmp_path) > 0
    with pytest.raises(FileNotFoundError):
        await free_bytes(tmp_path / "gone")


@pytest.mark.parametrize("content", ["", "1", "3", "2.5", "x" * 1_000])
def test_a_directory_of_another_version_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "version").write_text(content)
    with pytest.raises(UnknownLayout, match=r"layout version .*: name another directory"):
        open_data_dir(tmp_path)
    assert (tmp_path / "version").read_text() == content


def test_the_first_of_many_makes_a_file_and_the_others_find_it(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with ThreadPoolExecutor(16) as pool:
        made = list(pool.map(lambda number: publish_once(path, str(number).encode() * 5_000, 0o600), range(64)))
    assert sum(made) == 1
    content = path.read_text()
    assert content == content[: len(content) // 5_000] * 5_000
    assert [each.name for each in tmp_path.iterdir()] == ["file"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_replaced_file_has_its_new_content_and_mode(tmp_path: Path) -> None:
    path = tmp_path / "file"
    replace_file(path, b"one", 0o600)
    replace_file(path, b"two", 0o644)
    assert path.read_bytes() == b"two"
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert [each.name for each in tmp_path.iterdir()] == ["file"]
