"""The books added up anew out of the file itself, with nothing of the service's: whole numbers, every row."""

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

FIGURES = ("count", "success_count", "cpc", "cpa_bonus", "cpa_penalty", "total")
Cell = tuple[str, str, str, str]
"""Agent, consumer, domain, UTC day."""
Cells = dict[Cell, tuple[int, ...]]
"""Of each cell the `FIGURES`; amounts in micros."""
Balances = dict[tuple[str, str], int]
"""By account and currency, in micros."""
_BODIES = "SELECT body FROM documents WHERE collection = ?"


@dataclass(slots=True)
class Recount:
    """What the ledger's transactions come to."""

    cells: Cells = field(default_factory=dict)
    now: Balances = field(default_factory=lambda: defaultdict(int))
    past: Balances = field(default_factory=lambda: defaultdict(int))
    """Of what occurred up to the instant that was asked for."""
    transactions: int = 0
    bookings: int = 0
    """Settlements and reversals: the rows of an export."""


def recount(file: Path, past: datetime) -> Recount:
    """All balances and cells. Raises `AssertionError` where the settlements' own records come to something else."""
    found, instant = Recount(), past.isoformat()
    cells: dict[Cell, list[int]] = defaultdict(lambda: [0] * len(FIGURES))
    for transaction in _each(file, "settlement-transactions"):
        found.transactions += 1
        # Fixed in width down to the second, and all in UTC: text is in the order of time.
        earlier = transaction["occurred_at"][:19] <= instant[:19]
        for posting in transaction["postings"]:
            account = (posting["account"], posting["currency"])
            found.now[account] += posting["amount"]
            if earlier:
                found.past[account] += posting["amount"]
        if booking := transaction.get("booking"):
            found.bookings += 1
            cell = (booking["agent_id"], booking["consumer_id"], booking["domain"], transaction["occurred_at"][:10])
            _add(cells[cell], [booking[name] for name in FIGURES])
    found.cells = {cell: tuple(sums) for cell, sums in cells.items()}
    assert found.cells == _cells_of_settlements(file), "settlements and transactions do not come to the same"
    return found


def _cells_of_settlements(file: Path) -> Cells:
    """The same out of the settlements' records: each revision on its day, taken back on the day of its reversal."""
    cells: dict[Cell, list[int]] = defaultdict(lambda: [0] * len(FIGURES))
    for settlement in _each(file, "settlement-settlements"):
        of = settlement["agent_id"], settlement["consumer_id"], settlement["domain"]
        for revision in settlement["revisions"]:
            amounts = [_micros(revision["cost"][name]) for name in ("base", "bonus", "penalty", "total")]
            sums = [1, int(settlement["success"]), *amounts]
            _add(cells[*of, revision["settled_at"][:10]], sums)
            if revision["reversed_at"] is not None:
                _add(cells[*of, revision["reversed_at"][:10]], [-each for each in sums])
    return {cell: tuple(sums) for cell, sums in cells.items()}


def _add(sums: list[int], further: list[int]) -> None:
    for place, amount in enumerate(further):
        sums[place] += amount


def _micros(text: str) -> int:
    return int(Decimal(text).scaleb(6))


def _each(file: Path, collection: str) -> Iterator[dict[str, Any]]:
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as connection:
        for (body,) in connection.execute(_BODIES, (collection,)):
            yield json.loads(body)
