"""The table of a queue file, and its statements. Times are microseconds since 1970; 0 means at once."""

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from sqlite3 import Connection

from aex_runtime.bus.consume_loop import LeasedMessage
from aex_runtime.bus.port import Delivery, Message

FORMAT = 2
"""The file's `user_version`; other formats are refused."""
SUSPECT_AFTER = 2
"""Deliveries in a row without a result, after which a message is a suspect."""

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
    # Due retries come before new messages, whose time is 0.
    "CREATE INDEX IF NOT EXISTS messages_visible ON messages (visible_at DESC, id)",
    "CREATE INDEX IF NOT EXISTS messages_claim ON messages (claim) WHERE claim IS NOT NULL",
    f"CREATE INDEX IF NOT EXISTS messages_suspected ON messages (visible_at) WHERE died >= {SUSPECT_AFTER}",
    f"PRAGMA user_version = {FORMAT}",
)


def create(connection: Connection) -> None:
    """Create the table if it is missing. Raises `sqlite3.DatabaseError` for a file of another format."""
    (found,) = connection.execute("PRAGMA user_version").fetchone()
    if found == FORMAT:
        return
    if found:
        raise sqlite3.DatabaseError(f"the queue file has format {found}, this version reads {FORMAT}")
    for statement in _SCHEMA:
        connection.execute(statement)


def insert(connection: Connection, messages: Sequence[tuple[str, Message]], now: int) -> None:
    """Add messages with their topics, visible at once."""
    rows = [(topic, json.dumps(message.attributes), message.data, now) for topic, message in messages]
    connection.executemany("INSERT INTO messages (topic, attributes, data, enqueued_at) VALUES (?, ?, ?, ?)", rows)


def lease(
    connection: Connection,
    topics: Sequence[str],
    limit: int,
    token: str,
    now: int,
    until: int,
    *,
    suspects: bool = False,
) -> list[LeasedMessage]:
    """Lease up to `limit` visible messages under `token` until `until`: suspects, or only others.

    `died` of a stored row counts this delivery until its result is known.
    """
    marks = ", ".join("?" * len(topics))
    # The suspect with the fewest deaths first: most likely the others were delivered beside it.
    comparison, order = (">=", "died, id") if suspects else ("<", "visible_at DESC, id")
    statement = f"""UPDATE messages SET claim = ?, attempts = attempts + 1, died = died + 1, visible_at = ?
        WHERE id IN (SELECT id FROM messages
                     WHERE visible_at <= ? AND topic IN ({marks}) AND died {comparison} {SUSPECT_AFTER}
                     ORDER BY {order} LIMIT ?)
        RETURNING id, topic, attributes, data, attempts, died - 1"""  # noqa: S608 no value is inserted
    with closing(connection.execute(statement, (token, until, now, *topics, limit))) as cursor:
        return [
            LeasedMessage(token, number, Delivery(topic, Message(json.loads(attributes), data), attempts, died))
            for number, topic, attributes, data, attempts, died in sorted(cursor.fetchall())
        ]


def has_suspects(connection: Connection, topics: Sequence[str], now: int) -> bool:
    """Return whether a suspect is visible."""
    marks = ", ".join("?" * len(topics))
    statement = f"""SELECT 1 FROM messages WHERE died >= {SUSPECT_AFTER} AND visible_at <= ? AND topic IN ({marks})
        LIMIT 1"""  # noqa: S608 no value is inserted
    return connection.execute(statement, (now, *topics)).fetchone() is not None


def next_visible(connection: Connection, topics: Sequence[str], now: int) -> int | None:
    """Return the time at which the next delayed or leased message becomes visible, or None."""
    marks = ", ".join("?" * len(topics))
    statement = f"""SELECT visible_at FROM messages WHERE visible_at > ? AND topic IN ({marks})
        ORDER BY visible_at LIMIT 1"""  # noqa: S608 no value is inserted
    found = connection.execute(statement, (now, *topics)).fetchone()
    return None if found is None else int(found[0])


def remove(connection: Connection, number: int, token: str) -> bool:
    """Delete a message; return False if `token` no longer leases it."""
    return connection.execute("DELETE FROM messages WHERE id = ? AND claim = ?", (number, token)).rowcount == 1


def requeue(connection: Connection, number: int, token: str, visible_at: int, counted: bool) -> bool:
    """Make a message visible at `visible_at`; return False if `token` no longer leases it."""
    statement = """UPDATE messages SET claim = NULL, visible_at = ?, attempts = attempts - ?, died = 0
        WHERE id = ? AND claim = ?"""
    return connection.execute(statement, (visible_at, 0 if counted else 1, number, token)).rowcount == 1


def extend(connection: Connection, leases: Sequence[tuple[int, str]], until: int) -> None:
    """Extend leases (number, token) until `until`."""
    rows = [(until, number, token) for number, token in leases]
    connection.executemany("UPDATE messages SET visible_at = ? WHERE id = ? AND claim = ?", rows)


def release(connection: Connection, owner: str, counted: bool) -> int:
    """Release the messages of `owner` (the part of a token before its slash); return their number."""
    statement = """UPDATE messages SET claim = NULL, visible_at = 0, attempts = attempts - ?, died = died - ?
        WHERE claim > ? || '/' AND claim < ? || '0'"""  # '0' is the character after '/'
    uncounted = 0 if counted else 1
    return connection.execute(statement, (uncounted, uncounted, owner, owner)).rowcount


def oldest_enqueued_at(connection: Connection) -> int | None:
    """Return the time at which the oldest message was published; None if the queue is empty."""
    # By the growing key: only the first row is read.
    found = connection.execute("SELECT enqueued_at FROM messages ORDER BY id LIMIT 1").fetchone()
    return None if found is None else int(found[0])


def count(connection: Connection) -> int:
    """Return the number of messages that are not acked."""
    (found,) = connection.execute("SELECT count(*) FROM messages").fetchone()
    return int(found)
