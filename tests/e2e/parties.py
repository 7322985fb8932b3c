"""Who calls the suite: principals with tokens as `aex token` mints them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import httpx

from aex_models.audiences import Audience
from aex_runtime.clock import WallClock
from aex_runtime.identity.local_issuer import LocalIssuer
from aex_runtime.identity.local_key import local_key
from aex_runtime.ids import RandomIds
from tests.e2e.live import Live


@dataclass(frozen=True, slots=True)
class Caller:
    """One principal in one role."""

    live: Live
    id: str
    token: str

    def get(self, service: str, path: str, **query: Any) -> httpx.Response:
        """GET, whatever the answer."""
        return self.live.http.get(self.live.url(service, path), params=query, headers=self._headers())

    def read(self, service: str, path: str, **query: Any) -> Any:
        """The body of a GET that succeeds."""
        answer = self.get(service, path, **query)
        assert answer.is_success, answer.text
        return answer.json()

    def post(
        self,
        service: str,
        path: str,
        body: Any = None,
        *,
        key: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> httpx.Response:
        """POST JSON, or nothing, whatever the answer."""
        sent = {**self._headers(), **({"Idempotency-Key": key} if key else {}), **(headers or {})}
        return self.live.http.post(self.live.url(service, path), json=body, headers=sent)

    def raw(self, service: str, path: str, content: Any, media_type: str = "application/json") -> httpx.Response:
        """POST bytes, or an iterator of bytes (sent in chunks, without a Content-Length)."""
        headers = {**self._headers(), "Content-Type": media_type}
        return self.live.http.post(self.live.url(service, path), content=content, headers=headers)

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}


@dataclass(frozen=True, slots=True)
class Parties:
    """One of each role. Names are new each time: tests that share a suite do not meet."""

    consumer: Caller
    agent: Caller
    finance: Caller
    operator: Caller
    service: Caller


def fresh(name: str) -> str:
    """A name that nobody has."""
    return f"{name}-{uuid4().hex[:10]}"


def caller(live: Live, role: Audience, name: str, org: str | None = None) -> Caller:
    """A principal with a token of the suite's own key."""
    issuer = LocalIssuer(local_key(live.data_dir), WallClock(), RandomIds())
    return Caller(live, name, issuer.mint(name, role, org=org))


def parties_of(live: Live, consumer_org: str | None = None, agent_org: str | None = None) -> Parties:
    """New principals."""
    return Parties(
        consumer=caller(live, Audience.CONSUMER, fresh("acme"), consumer_org),
        agent=caller(live, Audience.AGENT, fresh("bot"), agent_org),
        finance=caller(live, Audience.FINANCE, fresh("fiona")),
        operator=caller(live, Audience.OPERATOR, fresh("olga")),
        service=caller(live, Audience.SERVICE, fresh("service:probe")),
    )
