import asyncio
from functools import partial
from pathlib import Path

import pytest

from aex_runtime.store.factory import open_store
from aex_runtime.store.firestore import FirestoreStore
from aex_runtime.store.memory import MemoryStore
from aex_runtime.store.port import Transaction
from tests.emulators.emulators import Emulators, new_project
from tests.store.contract import WORKS, read, write


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
        ValueError,
        match=r"unknown store scheme .* sqlite:////absolute/path, firestore://project\[/database\] or memory:",
    ):
        open_store(url)


@pytest.mark.parametrize("url", ["firestore://my-project", "firestore://my-project/", "firestore://my-project/my-data"])
async def test_firestore_is_not_called_before_it_is_used(url: str) -> None:
    store = open_store(url)
    assert isinstance(store, FirestoreStore)
    await store.close()


@pytest.mark.parametrize(
    "rest",
    ["", "//", "my-project", "/my-project", "///my-project", "//p", "//My-Project", "//my-project/(other)",
     "//my-project/a/b", "//my-project/data?x=1", "//my_project", "//my-project-", "//my-project/d"],
)  # fmt: skip
def test_firestore_without_a_project_and_a_database_is_refused(rest: str) -> None:
    with pytest.raises(ValueError, match=r"ids of a project .* firestore://my-project/my-database, not firestore:"):
        open_store(f"firestore:{rest}")


@pytest.mark.emulator
async def test_databases_of_one_project_are_apart(emulators: Emulators) -> None:
    project = new_project()
    host = emulators.firestore.host
    default, named = open_store(f"firestore://{project}", host), open_store(f"firestore://{project}/other", host)
    await write(default, "w1", b"1")
    assert (await read(default, "w1")).body == b"1"
    assert await named.get(WORKS, "w1") is None
    await default.close()
    await named.close()


@pytest.mark.emulator
async def test_skew_of_two_documents_is_never_written(emulators: Emulators) -> None:
    async def leave(transaction: Transaction, own: str, other: str) -> None:
        found = [await transaction.get(WORKS, key) for key in (own, other)]
        await asyncio.sleep(0)
        if all(found):
            transaction.delete(WORKS, own)

    project, host = new_project(), emulators.firestore.host
    first, second = FirestoreStore(project, emulator=host), FirestoreStore(project, emulator=host)
    for number in range(5):
        keys = f"a{number}", f"b{number}"
        for key in keys:
            await write(first, key)
        await asyncio.gather(
            first.transact(partial(leave, own=keys[0], other=keys[1])),
            second.transact(partial(leave, own=keys[1], other=keys[0])),
        )
        assert sum(document is not None for document in await first.get_many(WORKS, keys)) == 1
    await first.close()
    await second.close()
