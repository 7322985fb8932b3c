import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from aex_runtime.sqlite_file import StoreFile
from aex_runtime.store.port import AlreadyExists, Collection, Index, Write
from aex_runtime.store.sqlite_queries import select_document
from aex_runtime.store.sqlite_writer import Commit, GroupWriter

WORKS = Collection("group-works", (Index(order="due"),))


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    connection = StoreFile(tmp_path / "store.sqlite3", 1.0).connect(read_only=False)
    yield connection
    connection.close()


def creating(*keys: str) -> Commit:
    return Commit(writes=tuple(Write("create", WORKS, key, b"1", {"due": 1}) for key in keys))


def test_group_costs_one_commit(connection: sqlite3.Connection) -> None:
    statements: list[str] = []
    connection.set_trace_callback(statements.append)
    answers = GroupWriter()(connection, [creating(f"k{number}") for number in range(20)])
    assert answers == [True] * 20
    assert statements.count("COMMIT") == 1


def test_loser_and_refused_roll_back_only_themselves(connection: sqlite3.Connection) -> None:
    writer = GroupWriter()
    writer(connection, [creating("taken")])
    stale = Commit(((("group-works", "taken"), 99),), creating("never").writes)
    first, lost, refused, last = writer(connection, [creating("a"), stale, creating("b", "c", "taken"), creating("b")])
    assert (first, lost, last) == (True, False, True)
    assert isinstance(refused, AlreadyExists)
    found = {key: select_document(connection, "group-works", key) for key in ("a", "b", "c", "never")}
    assert {key for key, document in found.items() if document} == {"a", "b"}


def test_later_commit_of_a_group_sees_the_earlier(connection: sqlite3.Connection) -> None:
    writer = GroupWriter()
    writer(connection, [creating("w")])
    update = Commit(((("group-works", "w"), 1),), (Write("update", WORKS, "w", b"2", {}, 1),))
    assert writer(connection, [update, update]) == [True, False]


def test_unwritable_commit_leaves_its_neighbours_alone(connection: sqlite3.Connection) -> None:
    invalid = Commit(writes=(*creating("odd").writes, Write("put", WORKS, "\ud800")))
    good, refused, also_good = GroupWriter()(connection, [creating("a"), invalid, creating("b")])
    assert (good, also_good) == (True, True)
    assert isinstance(refused, UnicodeEncodeError)
    assert select_document(connection, "group-works", "odd") is None


def test_failed_group_writes_nothing(connection: sqlite3.Connection, tmp_path: Path) -> None:
    writer = GroupWriter()
    writer(connection, [creating("before")])
    connection.execute(f"PRAGMA max_page_count = {connection.execute('PRAGMA page_count').fetchone()[0]}")
    with pytest.raises(sqlite3.OperationalError, match="full"):
        writer(connection, [creating("a"), Commit(writes=(Write("put", WORKS, "large", b"x" * 100_000),))])
    assert not connection.in_transaction
    other = StoreFile(tmp_path / "store.sqlite3", 1.0).connect(read_only=True)
    assert select_document(other, "group-works", "a") is None
    assert select_document(other, "group-works", "before") is not None
    other.close()


def test_half_written_commit_alone_needs_savepoints(connection: sqlite3.Connection) -> None:
    statements: list[str] = []
    writer = GroupWriter()
    connection.set_trace_callback(statements.append)
    assert writer(connection, [creating("a", "b"), creating("c")]) == [True, True]
    at_once, good = writer(connection, [creating("a", "d"), creating("e")])
    assert (type(at_once), good) == (AlreadyExists, True)
    assert not any("SAVEPOINT" in each for each in statements)
    assert [type(each) for each in writer(connection, [creating("f"), creating("g", "a")])] == [bool, AlreadyExists]
    assert statements.count("SAVEPOINT alone") == 2
    assert [bool(select_document(connection, "group-works", key)) for key in "defg"] == [False, True, True, False]
