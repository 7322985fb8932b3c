"""The whole application in process, called with real tokens."""

from collections import defaultdict
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
from fastapi import FastAPI

from aex_runtime.blobs.factory import open_blobs
from aex_runtime.bus.factory import open_bus
from aex_runtime.files import ensure_data_dir
from aex_runtime.identity.local_key import load_or_create_key
from aex_runtime.identity.principals import Principal
from aex_runtime.identity.tokens import LocalIssuer
from aex_runtime.service import Backends
from aex_settlement.handlers.post_transactions import settle_outcome
from aex_settlement.main import create_app
from aex_settlement.settings import Settings
from tests.services.settlement.ledger_kit import FINANCE, LedgerKit
from tests.services.settlement.outcomes import an_outcome


@dataclass
class Counter:
    ledger: LedgerKit
    client: httpx.AsyncClient
    issuer: LocalIssuer
    app: FastAPI

    async def ask(self, who: Principal | None, path: str, **params: Any) -> httpx.Response:
        """GET as this caller; None carries no token."""
        return await self.client.get(path, params=params, headers=self._bearer(who))

    async def read(self, who: Principal, path: str, **params: Any) -> Any:
        answer = await self.ask(who, path, **params)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def post(self, who: Principal | None, path: str, body: Any, key: str | None = None) -> httpx.Response:
        """POST as this caller, under a key of its own unless one is given."""
        headers = self._bearer(who) | {"Idempotency-Key": key or uuid4().hex}
        return await self.client.post(path, json=body, headers=headers)

    async def settle(self, contract_id: str, **changes: Any) -> None:
        await settle_outcome(self.ledger.deps, an_outcome(contract_id, **changes))

    async def settle_a_few(self) -> None:
        """Eight settlements, an hour apart: each pair of consumer and agent in two domains."""
        pairs = product(("acme", "globex"), ("bot", "crew"), ("general", "physics"))
        for number, (consumer, agent, domain) in enumerate(pairs):
            await self.settle(f"ctr_{number}", consumer_id=consumer, agent_id=agent, domain=domain)
            self.ledger.clock.advance(timedelta(hours=1))

    async def seal(self) -> None:
        await self.ledger.seal()

    async def reverse(self, contract_id: str, **request: Any) -> httpx.Response:
        """Take a contract's settlement back, as finance does; a millisecond is gone then."""
        body = {"reason": "booked twice"} | request
        answer = await self.post(FINANCE, f"/v1/settlements/{contract_id}/reversals", body)
        self.ledger.clock.advance(timedelta(milliseconds=1))
        return answer

    async def trial_balance(self, **query: str) -> Mapping[str, str]:
        """Return each account's balance; they must sum to zero in each currency."""
        found = await self.read(FINANCE, "/v1/trial-balance", **query)
        sums: dict[str, Decimal] = defaultdict(Decimal)
        for row in found["accounts"]:
            sums[row["currency"]] += Decimal(row["balance"])
        assert not any(sums.values()), sums
        return balances(found["accounts"])

    def _bearer(self, who: Principal | None) -> dict[str, str]:
        return {} if who is None else {"Authorization": f"Bearer {self.issuer.mint(who.id, who.role)}"}


@asynccontextmanager
async def open_counter(ledger: LedgerKit, folder: Path) -> AsyncIterator[Counter]:
    deps = ledger.deps
    backends = Backends(deps.store, open_bus("memory:"), open_blobs("memory:"), deps.clock, deps.ids)
    app = create_app(Settings(data_dir=folder), backends)
    issuer = LocalIssuer(load_or_create_key(ensure_data_dir(folder)), deps.clock, deps.ids)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://settlement") as client:
        yield Counter(ledger, client, issuer, app)


def balances(rows: Any) -> dict[str, str]:
    return {f"{row['account']} {row['currency']}": row["balance"] for row in rows}


def a_deposit(micros: int = 100_000_000) -> dict[str, Any]:
    sides = (("platform:cash", micros), ("consumer:acme", -micros))
    postings = [{"account": name, "amount": amount, "currency": "USD"} for name, amount in sides]
    return {"kind": "deposit", "postings": postings, "reason": "wire 4711"}
