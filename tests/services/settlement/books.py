"""The books as their readers meet them: balances by account, and what a trial balance sums to."""

from collections import defaultdict
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from tests.services.settlement.counter import Counter
from tests.services.settlement.ledger_kit import FINANCE


def balances(answer: Any) -> dict[str, str]:
    rows = answer["accounts"] if "accounts" in answer else answer["balances"]
    return {f"{row['account']} {row['currency']}": row["balance"] for row in rows}


async def trial_balance(counter: Counter, **query: str) -> Mapping[str, str]:
    found = await counter.read(FINANCE, "/v1/trial-balance", **query)
    sums: dict[str, Decimal] = defaultdict(Decimal)
    for row in found["accounts"]:
        sums[row["currency"]] += Decimal(row["balance"])
    assert not any(sums.values()), sums
    return balances(found)


def a_deposit(micros: int = 100_000_000, consumer: str = "acme", currency: str = "USD") -> dict[str, Any]:
    return {
        "kind": "deposit",
        "postings": [
            {"account": "platform:cash", "amount": micros, "currency": currency},
            {"account": f"consumer:{consumer}", "amount": -micros, "currency": currency},
        ],
        "reason": "wire 4711",
    }
