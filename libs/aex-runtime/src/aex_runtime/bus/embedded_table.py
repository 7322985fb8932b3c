"""The SQL table of a queue file. Times are microseconds since 1970; the time 0 means at once."""

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from sqlite3 import Connection

from aex_runtime.bus.consume_loop import LeasedMessage
from aex_runtime.bus.port import Delivery, Message

FORMAT = 2
"""The `user_version` of the file; files of other formats are refused."""
SUSPECT_AFTER = 2
"""Consecutive deliveries without a result after which a message is a suspect."""

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


def create_table(connection: Connection) -> None:
    """Create the table and its indexes if they are missing.

    Raises `sqlite3.DatabaseError` for a file of another format.
    """
    (found,) = connection.execute("PRAGMA user_version").fetchone()
    if found == FORMAT:
        return
    if found:
        raise sqlite3.DatabaseError(f"the queue file has format {found}, this version reads {FORMAT}")
    for statement in _SCHEMA:
        connection.execute(statement)


def insert_messages(connection: Connection, messages: Sequence[tuple[str, Message]], now_micros: int) -> None:
    """Insert pairs of topic and message, which are visible at once."""
    rows = [(topic, json.dumps(message.attributes), message.data, now_micros) for topic, message in messages]
    connection.executemany("INSERT INTO messages (topic, attributes, data, enqueued_at) VALUES (?, ?, ?, ?)", rows)


def lease_messages(
    connection: Connection,
    topics: Sequence[str],
    limit: int,
    token: str,
    now_micros: int,
    until_micros: int,
    *,
    only_suspects: bool = False,
) -> list[LeasedMessage]:
    """Lease up to `limit` visible messages under `token` until `until_micros`, and return them.

    With `only_suspects` only suspects are leased, the one with the fewest deaths first. Without it only other messages
    are, retries first. The column `died` counts this delivery until its result is known.
    """
    marks = ", ".join("?" * len(topics))
    # The suspect with the fewest deaths first: most likely the others were delivered beside it.
    comparison, order = (">=", "died, id") if only_suspects else ("<", "visible_at DESC, id")
    statement = f"""UPDATE messages SET claim = ?, attempts = attempts + 1, died = died + 1, visible_at = ?
        WHERE id IN (SELECT id FROM messages
                     WHERE visible_at <= ? AND topic IN ({marks}) AND died {comparison} {SUSPECT_AFTER}
                     ORDER BY {order} LIMIT ?)
        RETURNING id, topic, attributes, data, attempts, died - 1"""  # noqa: S608 no value is inserted
    with closing(connection.execute(statement, (token, until_micros, now_micros, *topics, limit))) as cursor:
        return [
            LeasedMessage(token, number, Delivery(topic, Message(json.loads(attributes), data), attempts, died))
            for number, topic, attributes, data, attempts, died in sorted(cursor.fetchall())
        ]


def has_visible_suspects(connection: Connection, topics: Sequence[str], now_micros: int) -> bool:
    """Return whether a suspect with one of these topics is visible."""
    marks = ", ".join("?" * len(topics))
    statement = f"""SELECT 1 FROM messages WHERE died >= {SUSPECT_AFTER} AND visible_at <= ? AND topic IN ({marks})
        LIMIT 1"""  # noqa: S608 no value is inserted
    return connection.execute(statement, (now_micros, *topics)).fetchone() is not None


def next_visible_at_micros(connection: Connection, topics: Sequence[str], now_micros: int) -> int | None:
    """Return the time at which the next delayed or leased message becomes visible; None if there is none."""
    marks = ", ".join("?" * len(topics))
    statement = f"""SELECT visible_at FROM messages WHERE visible_at > ? AND topic IN ({marks})
        ORDER BY visible_at LIMIT 1"""  # noqa: S608 no value is inserted
    found = connection.execute(statement, (now_micros, *topics)).fetchone()
    return None if found is None else int(found[0])


def delete_leased(connection: Connection, row: int, token: str) -> bool:
    """Delete a message; return False if `token` does not lease it any more."""
    return connection.execute("DELETE FROM messages WHERE id = ? AND claim = ?", (row, token)).rowcount == 1


def requeue(connection: Connection, row: int, token: str, visible_at: int, counted: bool) -> bool:
    """Make a leased message visible again at a time; return False if `token` does not lease it any more.

    Without `counted` the delivery is no attempt.
    """
    statement = """UPDATE messages SET claim = NULL, visible_at = ?, attempts = attempts - ?, died = 0
        WHERE id = ? AND claim = ?"""
    return connection.execute(statement, (visible_at, 0 if counted else 1, row, token)).rowcount == 1


def extend_leases(connection: Connection, leases: Sequence[tuple[int, str]], until_micros: int) -> None:
    """Extend leases, given as pairs of row and token, until a time. Ended leases are skipped."""
    rows = [(until_micros, row, token) for row, token in leases]
    connection.executemany("UPDATE messages SET visible_at = ? WHERE id = ? AND claim = ?", rows)


def release_leases_of_owner(connection: Connection, owner: str, counted: bool) -> int:
    """End all leases of `owner`, make the messages visible at once, and return their number.

    `owner` is the part of a token before its slash. Without `counted` the deliveries are no attempts.
    """
    statement = """UPDATE messages SET claim = NULL, visible_at = 0, attempts = attempts - ?, died = died - ?
        WHERE claim > ? || '/' AND claim < ? || '0'"""  # '0' is the character after '/'
    uncounted = 0 if counted else 1
    return connection.execute(statement, (uncounted, uncounted, owner, owner)).rowcount


def oldest_enqueued_at_micros(connection: Connection) -> int | None:
    """Return the time at which the oldest message was published; None if the queue is empty."""
    # By the growing key: only the first row is read.
    found = connection.execute("SELECT enqueued_at FROM messages ORDER BY id LIMIT 1").fetchone()
    return None if found is None else int(found[0])


def count_messages(connection: Connection) -> int:
    """Return the number of messages that are not acked."""
    (found,) = connection.execute("SELECT count(*) FROM messages").fetchone()
    return int(found)
