"""HTTP client of the complete governance application, in process, with real tokens."""

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx

from aex_governance.deps import Deps
from aex_governance.handlers.decide_hold import open_hold
from aex_governance.handlers.read_holds import get_hold
from aex_governance.main import create_app
from aex_governance.repository import VALIDATIONS, hold_id_of
from aex_governance.rules.config import load_rule_configs
from aex_governance.rules.projection_documents import ValidationRecord
from aex_governance.settings import Settings
from aex_models.audiences import Audience
from aex_models.events import OutcomeHeld, OutcomeReviewed, parse_event_data
from aex_models.governance import Action, Flag, Hold, HoldCause, Severity, ValidationDecision
from aex_runtime.blobs.factory import open_blobs
from aex_runtime.bus.factory import open_bus
from aex_runtime.clock import SetClock
from aex_runtime.files import ensure_data_dir
from aex_runtime.identity.local_key import load_or_create_key
from aex_runtime.identity.principals import Principal
from aex_runtime.identity.tokens import LocalIssuer
from aex_runtime.ids import SeededIds
from aex_runtime.records import outbox_table
from aex_runtime.service import Backends
from aex_runtime.store.memory import MemoryStore
from aex_runtime.store.port import Store, key_of
from aex_runtime.unit_of_work import Unit, UnitOfWork
from tests.services.governance.requests import NOW, validation_request

SERVICE = Principal("service:verification", Audience.SERVICE)
OLGA, OMAR = Principal("olga", Audience.OPERATOR), Principal("omar", Audience.OPERATOR)
ORIGIN = "http://governance"
_CSRF = re.compile(r'name="csrf" value="([0-9a-f]{64})"')


def make_flag(rule: str = "self_dealing", severity: str = "critical", **evidence: Any) -> Flag:
    return Flag(rule=rule, severity=Severity(severity), message=f"{rule} was raised", evidence=evidence)


def agent(name: str) -> Principal:
    return Principal(name, Audience.AGENT)


def profile_path(agent_id: str) -> str:
    return f"/v1/agents/{quote(agent_id, safe='')}/profile"


@dataclass
class Client:
    """Client of the service, with the dependencies of its handlers."""

    deps: Deps
    clock: SetClock
    app: Any
    http: httpx.AsyncClient
    issuer: LocalIssuer
    tokens: dict[tuple[Principal, datetime], str] = field(default_factory=dict)

    async def hold(
        self,
        number: int | str,
        *flags: Flag,
        cause: HoldCause = HoldCause.FRAUD_SUSPECTED,
        request_fields: Mapping[str, Any] | None = None,
        contract_id: str | None = None,
    ) -> Hold:
        """Open a hold, of a logged attempt for suspected fraud, and advance the clock by a minute."""
        contract, attempt = contract_id or f"ctr_{number}", f"att_{number}"
        if cause is HoldCause.FRAUD_SUSPECTED:
            await self._log(contract, attempt, flags, request_fields or {})
        held = OutcomeHeld(contract_id=contract, attempt_id=attempt, cause=cause, flags=flags)
        await open_hold(self.deps, held)
        self.clock.advance(timedelta(minutes=1))
        return await get_hold(self.deps, hold_id_of(attempt))

    async def _log(self, contract: str, attempt: str, flags: tuple[Flag, ...], further: Mapping[str, Any]) -> None:
        request = validation_request(**{"contract_id": contract, "attempt_id": attempt, **further})
        decision = ValidationDecision(valid=False, action=Action.HOLD, flags=flags, risk_score=0.9)

        async def append(unit: Unit) -> None:
            unit.put(
                VALIDATIONS, key_of(attempt), ValidationRecord(request=request, decision=decision, decided_at=unit.now)
            )

        await self.deps.unit_of_work.run(append)

    async def get(self, caller: Principal | None, path: str, **query: Any) -> httpx.Response:
        return await self.http.get(path, params=query or None, headers=self.bearer(caller))

    async def page(self, path: str, caller: Principal = OLGA, **query: Any) -> str:
        """Return a page that answers 200."""
        response = await self.get(caller, path, **query)
        assert response.status_code == 200, response.text
        return response.text

    async def profile(self, caller: Principal, agent_id: str, **params: Any) -> Any:
        """Return the profile of an agent."""
        response = await self.get(caller, profile_path(agent_id), **params)
        assert response.status_code == 200, response.text
        return response.json()

    async def hold_form(self, hold_id: str, caller: Principal = OLGA, **typed: str) -> dict[str, str]:
        """Return the completed form of a hold's page, by default confirmed."""
        page = await self.get(caller, f"/review/holds/{hold_id}")
        csrf = _CSRF.findall(page.text)[0]
        return {"csrf": csrf, "decision": "release", "reason": "looked into it", "step": "record"} | typed

    async def send(
        self, hold_id: str, form: dict[str, str], caller: Principal = OLGA, headers: Mapping[str, str] | None = None
    ) -> httpx.Response:
        """Post a form, by default with the headers of a browser."""
        all_headers = self.bearer(caller) | dict({"Origin": ORIGIN} if headers is None else headers)
        return await self.http.post(f"/review/holds/{hold_id}", data=form, headers=all_headers)

    async def decide(self, hold_id: str, caller: Principal = OLGA, **typed: str) -> httpx.Response:
        return await self.send(hold_id, await self.hold_form(hold_id, caller, **typed), caller)

    async def reviews(self) -> list[OutcomeReviewed]:
        """Return the emitted decisions."""
        waiting = await outbox_table("governance").find(self.deps.store, order="created_at")
        return [parse_event_data(each.record.event, OutcomeReviewed) for each in waiting]

    def bearer(self, caller: Principal | None) -> dict[str, str]:
        if caller is None:
            return {}
        minted = (caller, self.clock.now())
        if minted not in self.tokens:  # one until time passes: forms are bound to it
            self.tokens[minted] = self.issuer.mint(caller.id, caller.role)
        return {"Authorization": f"Bearer {self.tokens[minted]}"}


@asynccontextmanager
async def open_client(folder: Path, store: Store | None = None, at: datetime = NOW) -> AsyncIterator[Client]:
    """Open the application over a store, with a settable clock."""
    clock, ids, chosen = SetClock(at), SeededIds(1), store or MemoryStore()
    deps = Deps(UnitOfWork("governance", chosen, clock, lambda _: None), chosen, clock, load_rule_configs())
    backends = Backends(chosen, open_bus("memory:"), open_blobs("memory:"), clock, ids)
    app = create_app(Settings(data_dir=folder), backends)
    issuer = LocalIssuer(load_or_create_key(ensure_data_dir(folder)), clock, ids)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=ORIGIN) as http:
        yield Client(deps, clock, app, http, issuer)
