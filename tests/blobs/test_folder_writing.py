import os
from pathlib import Path

import pytest

from aex_runtime.blobs.folder import Folder

DIGESTS = [f"{number:02x}" * 32 for number in range(4)]
PATHS = [f"evaluation/{digest[:2]}/{digest}" for digest in DIGESTS]


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    folder = Folder(tmp_path / "blobs")
    folder.create_root()
    return folder


def names(folder: Folder) -> set[str]:
    return {str(path.relative_to(folder.root)) for path in folder.root.rglob("*") if path.is_file()}


def test_bytes_are_synced_before_names(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.put_all([(path, b"before") for path in PATHS])  # with their folders
    for path in PATHS:
        (folder.root / path).unlink()
    seen: list[tuple[bytes | str, int]] = []

    def spied(descriptor: int, fsync: object = os.fsync) -> None:
        synced_one = os.fstat(descriptor).st_ino
        path = next(each for each in folder.root.rglob("*") if each.stat().st_ino == synced_one)
        synced = str(path.relative_to(folder.root)) if path.is_dir() else path.read_bytes()
        seen.append((synced, len(names(folder) & set(PATHS))))
        assert callable(fsync)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", spied)
    assert folder.put_all([(path, path.encode()) for path in PATHS]) == [None] * 4
    assert seen[:4] == [(path.encode(), 0) for path in PATHS]
    assert sorted(seen[4:], key=str) == [(f"evaluation/{digest[:2]}", 4) for digest in DIGESTS]


def test_failed_write_leaves_no_file_and_affects_no_other(folder: Folder) -> None:
    (folder.root / "evaluation").mkdir()
    (folder.root / "evaluation" / DIGESTS[1][:2]).write_bytes(b"a file where a folder should be")
    found = folder.put_all([(path, path.encode()) for path in PATHS])
    assert [isinstance(each, OSError) for each in found] == [False, True, False, False]
    assert names(folder) == {*PATHS[:1], *PATHS[2:], f"evaluation/{DIGESTS[1][:2]}"}


def test_repeated_blob_of_a_group_is_stored_once(folder: Folder) -> None:
    assert folder.put_all([(PATHS[0], b"same"), (PATHS[0], b"same")]) == [None, None]
    assert names(folder) == {PATHS[0]}
    assert (folder.root / PATHS[0]).read_bytes() == b"same"


def test_existing_blob_remains_and_is_synced(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.put_all([(PATHS[0], b"same")])
    before, synced = (folder.root / PATHS[0]).stat().st_ino, list[int]()
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(os.fstat(descriptor).st_ino))
    assert folder.put_all([(PATHS[0], b"same")]) == [None]
    assert synced == [before, (folder.root / PATHS[0]).parent.stat().st_ino]


def test_failed_sync_leaves_no_name(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(_: int) -> None:
        raise OSError("the disk is gone")

    folder.put_all([(PATHS[0], b"before")])
    monkeypatch.setattr(os, "fsync", failing)
    found = folder.put_all([(PATHS[0], b"after")])
    assert [str(each) for each in found] == ["the disk is gone"]
    assert (folder.root / PATHS[0]).read_bytes() == b"before"
    assert names(folder) == {PATHS[0]}


def test_failed_sync_of_a_folder_fails_its_blobs(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.put_all([(path, b"before") for path in PATHS])
    broken = (folder.root / PATHS[2]).parent.stat().st_ino

    def failing(descriptor: int) -> None:
        if os.fstat(descriptor).st_ino == broken:
            raise OSError("the disk is gone")

    monkeypatch.setattr(os, "fsync", failing)
    found = folder.put_all([(path, b"after") for path in PATHS])
    assert [each is None for each in found] == [True, True, False, True]
