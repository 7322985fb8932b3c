from pathlib import Path

import pytest

from aex_runtime.store.factory import open_store
from aex_runtime.store.memory import MemoryStore
from tests.store.contract import read, write


@pytest.mark.parametrize("url", ["memory:", "memory://"])
def test_memory(url: str) -> None:
    assert isinstance(open_store(url), MemoryStore)


async def test_three_slashes_are_relative_and_four_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    relative, absolute = open_store("sqlite:///a/s.sqlite3"), open_store(f"sqlite:///{tmp_path}/a/s.sqlite3")
    await write(relative, "w1", b"1")
    assert (await read(absolute, "w1")).body == b"1"
    await relative.close()
    await absolute.close()


@pytest.mark.parametrize(
    "url", ["sqlite:", "sqlite://", "sqlite:///", "sqlite:///:memory:", "sqlite:s.db", "sqlite:///a/"]
)
def test_sqlite_without_a_file_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="needs the path of a file: sqlite:///relative/path"):
        open_store(url)


@pytest.mark.parametrize("url", ["", "redis://host", "postgres", "memory:x", "SQLITE:///x"])
def test_unknown_scheme_names_the_accepted_ones(url: str) -> None:
    with pytest.raises(
        ValueError, match=r"unknown store scheme .* sqlite:///relative/path, sqlite:////absolute/path or memory:"
    ):
        open_store(url)


def test_firestore_says_that_it_is_not_there_yet() -> None:
    with pytest.raises(ValueError, match="firestore: is not in this build"):
        open_store("firestore://project")
