"""Callers of the suite: principals with tokens from `aex token`."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import httpx

from aex_models.audiences import Audience
from aex_runtime.clock import WallClock
from aex_runtime.identity.local_key import load_or_create_key
from aex_runtime.identity.tokens import LocalIssuer
from aex_runtime.ids import RandomIds
from tests.e2e.live import Live

TIMEOUT_S = 240.0
_RETRY_S = 0.1


@dataclass(frozen=True, slots=True)
class Caller:
    """A principal in one role."""

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

    def put(self, service: str, path: str, content: Any) -> httpx.Response:
        """PUT bytes, or an iterator of bytes, whatever the answer."""
        return self.live.http.put(self.live.url(service, path), content=content, headers=self._headers())

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}


@dataclass(frozen=True, slots=True)
class PatientCaller(Caller):
    """A careful client: it repeats what a dying service left unanswered, under one idempotency key."""

    def get(self, service: str, path: str, **query: Any) -> httpx.Response:
        return until_answered(lambda: Caller.get(self, service, path, **query))

    def post(
        self,
        service: str,
        path: str,
        body: Any = None,
        *,
        key: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> httpx.Response:
        once = key or uuid4().hex
        return until_answered(lambda: Caller.post(self, service, path, body, key=once, headers=headers))


def until_answered(send: Callable[[], httpx.Response]) -> httpx.Response:
    """The first answer of a service that is there, and is not busy with the very same request."""
    deadline = time.monotonic() + TIMEOUT_S
    while True:
        try:
            answer = send()
        except httpx.TransportError:
            assert time.monotonic() < deadline, f"no answer within {TIMEOUT_S:g} s"
        else:
            under_way = answer.status_code == 409 and answer.json()["code"] == "idempotency_in_flight"
            if not (under_way or answer.status_code == 503):
                return answer
            assert time.monotonic() < deadline, answer.text
        time.sleep(_RETRY_S)


@dataclass(frozen=True, slots=True)
class Parties:
    """Principals, one of each role, with new names, so that tests on one suite do not meet."""

    consumer: Caller
    agent: Caller
    finance: Caller
    operator: Caller


def fresh(name: str) -> str:
    """Return an unused name."""
    return f"{name}-{uuid4().hex[:10]}"


def caller(live: Live, role: Audience, name: str, org: str | None = None, kind: type[Caller] = Caller) -> Caller:
    """A principal with a token of the suite's own key."""
    issuer = LocalIssuer(load_or_create_key(live.data_dir), WallClock(), RandomIds())
    return kind(live, name, issuer.mint(name, role, org=org))


def parties_of(
    live: Live, consumer_org: str | None = None, agent_org: str | None = None, kind: type[Caller] = Caller
) -> Parties:
    """New principals; of the kind `PatientCaller` where services are killed."""
    return Parties(
        consumer=caller(live, Audience.CONSUMER, fresh("acme"), consumer_org, kind),
        agent=caller(live, Audience.AGENT, fresh("bot"), agent_org, kind),
        finance=caller(live, Audience.FINANCE, fresh("fiona"), None, kind),
        operator=caller(live, Audience.OPERATOR, fresh("olga"), None, kind),
    )
