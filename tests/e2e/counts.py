"""Counts of the services' records, from the SQLite files or the Firestore emulator."""

import sqlite3
from contextlib import closing

import httpx

from aex_cli.suite.service_spec import MODULES
from tests.e2e.jobs import eventually
from tests.e2e.live import Live
from tests.e2e.stores import until_in_the_books

_MACHINERY = ("-leases", "-timers", "-outbox", "-idempotency", "-dead-letters", "-dead-letter-messages")


def object_counts(live: Live) -> dict[str, int]:
    """Count the sealed records of each collection, without leases, timers and the like."""
    until_in_the_books(live)
    return {name: count for name, count in _counts(live).items() if not name.endswith(_MACHINERY)}


def until_published(live: Live) -> None:
    """Wait until no service has an event left that it has not published."""

    def look() -> bool | None:
        return True if not any(name.endswith("-outbox") for name in _counts(live)) else None

    eventually(look, what="an empty outbox")


def _counts(live: Live) -> dict[str, int]:
    return _in_files(live) if live.backend.project is None else _in_firestore(live, live.backend.project)


def _in_files(live: Live) -> dict[str, int]:
    counts: dict[str, int] = {}
    for service in MODULES:
        path = live.data_dir / service / "store.sqlite3"
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
            counts |= dict(connection.execute("SELECT collection, COUNT(*) FROM documents GROUP BY collection"))
    return counts


def _in_firestore(live: Live, project: str) -> dict[str, int]:
    host = live.backend.environment["FIRESTORE_EMULATOR_HOST"]
    documents = f"http://{host}/v1/projects/{project}/databases/(default)/documents"
    # To list collections, the emulator wants to hear this of its owner.
    with httpx.Client(trust_env=False, headers={"Authorization": "Bearer owner"}) as http:
        names = http.post(f"{documents}:listCollectionIds", json={}).raise_for_status().json()
        return {name: _count(http, documents, name) for name in names.get("collectionIds", ())}


def _count(http: httpx.Client, documents: str, collection: str) -> int:
    counted = {"alias": "all", "count": {}}
    query = {"structuredQuery": {"from": [{"collectionId": collection}]}, "aggregations": [counted]}
    answer = http.post(f"{documents}:runAggregationQuery", json={"structuredAggregationQuery": query})
    return int(answer.raise_for_status().json()[0]["result"]["aggregateFields"]["all"]["integerValue"])
