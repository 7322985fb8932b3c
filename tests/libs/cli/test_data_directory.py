from pathlib import Path

import pytest

from aex_cli.suite.data_directory import open_data_directory
from aex_runtime.commandline.errors import UserError


def test_a_new_directory_is_private_and_versioned(tmp_path: Path) -> None:
    directory = open_data_directory(tmp_path / "deep" / ".aex")
    assert directory.root.stat().st_mode & 0o777 == 0o700
    assert (directory.root / "version").read_text() == "2\n"
    assert directory.logs.stat().st_mode & 0o777 == 0o700


def test_the_directory_of_another_release_is_refused(tmp_path: Path) -> None:
    (tmp_path / "version").write_text("99\n")
    with pytest.raises(UserError, match="'99'") as refused:
        open_data_directory(tmp_path)
    assert "--data-dir" in refused.value.text()


def test_a_folder_with_other_things_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("…")
    with pytest.raises(UserError, match="other things"):
        open_data_directory(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_file_in_its_place_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(UserError, match="not a folder"):
            open_data_directory(path)
