"""Recorded answers of the services, with their readers."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field

import httpx
import jwt

from tests.e2e.live import ANSWER_S


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer with its reader's role and its request."""

    role: str
    method: str
    path: str
    status: int
    text: str

    def __str__(self) -> str:
        return f"{self.status} to {self.role} {self.method} {self.path}"


@dataclass(slots=True)
class Tape:
    """Answers in the order in which they came."""

    answers: list[Answer] = field(default_factory=list)

    def client(self, transport: httpx.BaseTransport | None = None) -> httpx.Client:
        hooks = {"response": [self._take]}
        return httpx.Client(timeout=ANSWER_S, trust_env=False, event_hooks=hooks, transport=transport)

    def _take(self, response: httpx.Response) -> None:
        response.read()
        headers = json.dumps(dict(response.headers))
        request = response.request
        role = _role_of(request.headers.get("authorization", ""))
        text = f"{headers}\n{response.text}"
        self.answers.append(Answer(role, request.method, request.url.path, response.status_code, text))

    def to(self, *roles: str) -> Iterator[tuple[str, str]]:
        """Return the answers to readers in these roles, as locations for `scan`."""
        return ((str(each), each.text) for each in self.answers if each.role in roles)


def _role_of(header: str) -> str:
    if not header:
        return "anonymous"
    claims = jwt.decode(header.removeprefix("Bearer "), options={"verify_signature": False})
    return str(claims["role"])
