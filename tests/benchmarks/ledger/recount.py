"""Sums of all ledger transactions, read from the store's file without code of the service."""

import json
import sqlite3
from collections import defaultdict
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

FIGURES = ("count", "success_count", "cpc", "cpa_bonus", "cpa_penalty", "total")
Cell = tuple[str, str, str, str]
"""Agent, consumer, domain, UTC day."""
Balances = dict[tuple[str, str], int]
"""Micros by account and currency."""


@dataclass(slots=True)
class LedgerSums:
    """Sums of one ledger, in micros."""

    cells: dict[Cell, list[int]] = field(default_factory=lambda: defaultdict(lambda: [0] * len(FIGURES)))
    """The `FIGURES` of each cell."""
    now: Balances = field(default_factory=lambda: defaultdict(int))
    past: Balances = field(default_factory=lambda: defaultdict(int))
    """Balances at the past instant."""
    export_rows: int = 0
    """Settlements and reversals."""


def recount(file: Path, past: datetime) -> LedgerSums:
    """Add up all transactions of a store's file."""
    sums, instant = LedgerSums(), past.isoformat()[:19]
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as connection:
        sql = "SELECT body FROM documents WHERE collection = 'settlement-transactions'"
        for transaction in (json.loads(body) for (body,) in connection.execute(sql)):
            is_past = transaction["occurred_at"][:19] <= instant  # UTC text of fixed width sorts by time
            for posting in transaction["postings"]:
                account = (posting["account"], posting["currency"])
                sums.now[account] += posting["amount"]
                if is_past:
                    sums.past[account] += posting["amount"]
            if booking := transaction.get("booking"):
                sums.export_rows += 1
                day = transaction["occurred_at"][:10]
                figures = sums.cells[booking["agent_id"], booking["consumer_id"], booking["domain"], day]
                for index, name in enumerate(FIGURES):
                    figures[index] += booking[name]
    return sums
