"""The governance service as operators meet it: the whole application, in process, with real tokens."""

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx

from aex_governance.deps import Deps
from aex_governance.handlers.holds import get_hold, open_hold
from aex_governance.main import create_app
from aex_governance.repository.holds import hold_id_of
from aex_governance.repository.log import VALIDATIONS
from aex_governance.rules.config import load_rules
from aex_governance.rules.projection.records import ValidationRecord
from aex_governance.settings import Settings
from aex_models.audiences import Audience
from aex_models.events import OutcomeHeld, OutcomeReviewed, read_data
from aex_models.governance import Action, Flag, Hold, HoldCause, Severity, ValidationDecision
from aex_runtime.blobs.factory import open_blobs
from aex_runtime.bus.factory import open_bus
from aex_runtime.clock import SetClock
from aex_runtime.data_dir import open_data_dir
from aex_runtime.identity.local_issuer import LocalIssuer
from aex_runtime.identity.local_key import local_key
from aex_runtime.identity.principal import Principal
from aex_runtime.ids import SeededIds
from aex_runtime.outbox_entry import outbox_table
from aex_runtime.service import Backends
from aex_runtime.store.keys import key_of
from aex_runtime.store.memory import MemoryStore
from aex_runtime.store.port import Store
from aex_runtime.unit_of_work import Unit, UnitOfWork
from tests.services.governance.asking import NOW, asked

OLGA, OMAR = Principal("olga", Audience.OPERATOR), Principal("omar", Audience.OPERATOR)
ORIGIN = "http://governance"
_CSRF = re.compile(r'name="csrf" value="([0-9a-f]{64})"')


def a_flag(rule: str = "self_dealing", severity: str = "critical", **evidence: Any) -> Flag:
    """A flag with some figures."""
    return Flag(rule=rule, severity=Severity(severity), message=f"{rule} was raised", evidence=evidence)


@dataclass
class Bureau:
    """A client of the service, and its handlers' collaborators."""

    deps: Deps
    clock: SetClock
    app: Any
    client: httpx.AsyncClient
    issuer: LocalIssuer
    tokens: dict[tuple[Principal, datetime], str] = field(default_factory=dict)

    async def hold(
        self,
        number: int | str,
        *flags: Flag,
        cause: HoldCause = HoldCause.FRAUD_SUSPECTED,
        asked_about: Mapping[str, Any] | None = None,
        contract_id: str | None = None,
    ) -> Hold:
        """A hold, as its event makes it; of an attempt in the log where fraud is suspected. A minute passes."""
        contract, attempt = contract_id or f"ctr_{number}", f"att_{number}"
        if cause is HoldCause.FRAUD_SUSPECTED:
            await self._log(contract, attempt, flags, asked_about or {})
        held = OutcomeHeld(contract_id=contract, attempt_id=attempt, cause=cause, flags=flags)
        await open_hold(self.deps, held)
        self.clock.advance(timedelta(minutes=1))
        return await get_hold(self.deps, hold_id_of(attempt))

    async def _log(self, contract: str, attempt: str, flags: tuple[Flag, ...], further: Mapping[str, Any]) -> None:
        request = asked(**{"contract_id": contract, "attempt_id": attempt, **further})
        decision = ValidationDecision(valid=False, action=Action.HOLD, flags=flags, risk_score=0.9)

        async def append(unit: Unit) -> None:
            unit.put(
                VALIDATIONS, key_of(attempt), ValidationRecord(request=request, decision=decision, decided_at=unit.now)
            )

        await self.deps.unit_of_work.run(append)

    async def ask(self, who: Principal | None, path: str, **query: Any) -> httpx.Response:
        """GET as this caller; None carries no token."""
        return await self.client.get(path, params=query or None, headers=self.bearer(who))

    async def page(self, path: str, who: Principal = OLGA, **query: Any) -> str:
        """A page that must be there."""
        answer = await self.ask(who, path, **query)
        assert answer.status_code == 200, answer.text
        return answer.text

    async def hold_form(self, hold_id: str, who: Principal = OLGA, **typed: str) -> dict[str, str]:
        """The form of a hold's page, filled in; confirmed already, if the test does not say otherwise."""
        page = await self.ask(who, f"/review/holds/{hold_id}")
        csrf = _CSRF.findall(page.text)[0]
        return {"csrf": csrf, "decision": "release", "reason": "looked into it", "step": "record"} | typed

    async def send(
        self, hold_id: str, form: dict[str, str], who: Principal = OLGA, headers: Mapping[str, str] | None = None
    ) -> httpx.Response:
        """Send a form, as a browser does where `headers` say nothing else."""
        sent = self.bearer(who) | dict({"Origin": ORIGIN} if headers is None else headers)
        return await self.client.post(f"/review/holds/{hold_id}", data=form, headers=sent)

    async def decide(self, hold_id: str, who: Principal = OLGA, **typed: str) -> httpx.Response:
        """Fill in the form of a hold's page and send it."""
        return await self.send(hold_id, await self.hold_form(hold_id, who, **typed), who)

    async def reviews(self) -> list[OutcomeReviewed]:
        """The decisions that verification is told of."""
        waiting = await outbox_table("governance").find(self.deps.store, order="created_at")
        return [read_data(each.record.event, OutcomeReviewed) for each in waiting]

    def bearer(self, who: Principal | None) -> dict[str, str]:
        """The header that carries a token."""
        if who is None:
            return {}
        minted = (who, self.clock.now())
        if minted not in self.tokens:  # one until time passes: forms are bound to it
            self.tokens[minted] = self.issuer.mint(who.id, who.role)
        return {"Authorization": f"Bearer {self.tokens[minted]}"}


@asynccontextmanager
async def open_bureau(folder: Path, store: Store | None = None, at: datetime = NOW) -> AsyncIterator[Bureau]:
    """The application over a store, on a clock that the test moves."""
    clock, ids, kept = SetClock(at), SeededIds(1), store or MemoryStore()
    deps = Deps(UnitOfWork("governance", kept, clock, lambda _: None), kept, clock, load_rules())
    backends = Backends(kept, open_bus("memory:"), open_blobs("memory:"), clock, ids)
    app = create_app(Settings(data_dir=folder), backends)
    issuer = LocalIssuer(local_key(open_data_dir(folder)), clock, ids)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=ORIGIN) as client:
        yield Bureau(deps, clock, app, client, issuer)
