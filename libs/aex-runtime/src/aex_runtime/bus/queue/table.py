"""A queue's table, and the few statements that touch it. Times are microseconds since 1970; 0 means at once."""

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from sqlite3 import Connection

from aex_runtime.bus.port import Message

FORMAT = 2
"""Of the file (`user_version`): a file of another format is refused."""
SUSPECTED = 2
"""Deliveries in a row without an end, after which a message is suspected to kill its process."""

_SCHEMA = (
    """CREATE TABLE IF NOT EXISTS messages (
        id INTEGER PRIMARY KEY,
        topic TEXT NOT NULL,
        attributes TEXT NOT NULL,
        data BLOB NOT NULL,
        attempts INTEGER NOT NULL DEFAULT 0,
        died INTEGER NOT NULL DEFAULT 0,
        visible_at INTEGER NOT NULL DEFAULT 0,
        enqueued_at INTEGER NOT NULL,
        claim TEXT
    ) STRICT""",
    # What was retried and is due comes before what is fresh: its time has come, and fresh messages (0) have none.
    "CREATE INDEX IF NOT EXISTS messages_visible ON messages (visible_at DESC, id)",
    "CREATE INDEX IF NOT EXISTS messages_claim ON messages (claim) WHERE claim IS NOT NULL",
    f"CREATE INDEX IF NOT EXISTS messages_suspected ON messages (visible_at) WHERE died >= {SUSPECTED}",
    f"PRAGMA user_version = {FORMAT}",
)


@dataclass(frozen=True, slots=True)
class Row:
    """A message in the queue, claimed by `token`."""

    number: int
    topic: str
    attributes: str
    data: bytes
    attempts: int
    died: int
    token: str

    def message(self) -> Message:
        """The message that was published."""
        return Message(json.loads(self.attributes), self.data)


def create(connection: Connection) -> None:
    """Make the table where it is not there. Raises `sqlite3.DatabaseError` for a file of another format."""
    (found,) = connection.execute("PRAGMA user_version").fetchone()
    if found == FORMAT:
        return
    if found:
        raise sqlite3.DatabaseError(f"the queue file has format {found}, this version reads {FORMAT}")
    for statement in _SCHEMA:
        connection.execute(statement)


def insert(connection: Connection, messages: Sequence[tuple[str, str, bytes]], now: int) -> None:
    """Add messages (topic, attributes as JSON, data), visible at once."""
    rows = [(*message, now) for message in messages]
    connection.executemany("INSERT INTO messages (topic, attributes, data, enqueued_at) VALUES (?, ?, ?, ?)", rows)


def claim(
    connection: Connection,
    topics: Sequence[str],
    limit: int,
    token: str,
    now: int,
    until: int,
    *,
    suspected: bool = False,
) -> list[Row]:
    """Take up to `limit` visible messages for `token`, out of others' sight until `until`: suspected ones or others.

    `died` of a row counts this delivery until its end is told.
    """
    marks = ", ".join("?" * len(topics))
    # Of those that are suspected first the one that was cut off least: the others were in its company, most likely.
    which, first = (">=", "died, id") if suspected else ("<", "visible_at DESC, id")
    statement = f"""UPDATE messages SET claim = ?, attempts = attempts + 1, died = died + 1, visible_at = ?
        WHERE id IN (SELECT id FROM messages WHERE visible_at <= ? AND topic IN ({marks}) AND died {which} {SUSPECTED}
                     ORDER BY {first} LIMIT ?)
        RETURNING id, topic, attributes, data, attempts, died - 1"""  # noqa: S608 no value is put in
    with closing(connection.execute(statement, (token, until, now, *topics, limit))) as cursor:
        rows = [
            Row(number, topic, attributes, data, attempts, died, token)
            for number, topic, attributes, data, attempts, died in cursor.fetchall()
        ]
    return sorted(rows, key=lambda row: row.number)


def has_suspected(connection: Connection, topics: Sequence[str], now: int) -> bool:
    """Whether a suspected message is visible."""
    marks = ", ".join("?" * len(topics))
    statement = f"""SELECT 1 FROM messages WHERE died >= {SUSPECTED} AND visible_at <= ? AND topic IN ({marks})
        LIMIT 1"""  # noqa: S608 no value is put in
    return connection.execute(statement, (now, *topics)).fetchone() is not None


def next_visible(connection: Connection, topics: Sequence[str], now: int) -> int | None:
    """When the next message that is not visible yet will be: one put off, or one whose claim lapses."""
    marks = ", ".join("?" * len(topics))
    statement = f"""SELECT visible_at FROM messages WHERE visible_at > ? AND topic IN ({marks})
        ORDER BY visible_at LIMIT 1"""  # noqa: S608 only question marks are put in
    found = connection.execute(statement, (now, *topics)).fetchone()
    return None if found is None else int(found[0])


def remove(connection: Connection, number: int, token: str) -> bool:
    """Delete a message that `token` still holds."""
    return connection.execute("DELETE FROM messages WHERE id = ? AND claim = ?", (number, token)).rowcount == 1


def put_back(connection: Connection, number: int, token: str, visible_at: int, counted: bool) -> bool:
    """Let a message that `token` still holds be seen again at `visible_at`: its delivery had an end."""
    statement = """UPDATE messages SET claim = NULL, visible_at = ?, attempts = attempts - ?, died = 0
        WHERE id = ? AND claim = ?"""
    return connection.execute(statement, (visible_at, 0 if counted else 1, number, token)).rowcount == 1


def extend(connection: Connection, held: Sequence[tuple[int, str]], until: int) -> None:
    """Keep claims (number, token) out of others' sight until `until`."""
    rows = [(until, number, token) for number, token in held]
    connection.executemany("UPDATE messages SET visible_at = ? WHERE id = ? AND claim = ?", rows)


def free(connection: Connection, owner: str, counted: bool) -> int:
    """Let go of everything that `owner` (the part of a token before its slash) holds; how much it was."""
    statement = """UPDATE messages SET claim = NULL, visible_at = 0, attempts = attempts - ?, died = died - ?
        WHERE claim > ? || '/' AND claim < ? || '0'"""  # '0' is the character after '/'
    less = 0 if counted else 1
    return connection.execute(statement, (less, less, owner, owner)).rowcount


def oldest(connection: Connection) -> int | None:
    """Since when the first message that is not acked yet has been there; None where there is none."""
    # By the key, which grows for as long as a row is there: the first row is the oldest, and no other is read.
    found = connection.execute("SELECT enqueued_at FROM messages ORDER BY id LIMIT 1").fetchone()
    return None if found is None else int(found[0])


def count(connection: Connection) -> int:
    """How many messages are not acked yet."""
    (found,) = connection.execute("SELECT count(*) FROM messages").fetchone()
    return int(found)
