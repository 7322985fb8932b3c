"""Who takes part: each has a token of its own, as `aex token` mints them, and calls the services by the SDK."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

import httpx

from aex_client import AsyncAexClient, Endpoints
from aex_models.audiences import Audience
from aex_runtime.identity.local_issuer import LocalIssuer

CONSUMER = "acme"
WORDSMITH = "wordsmith"
DIGIT_READER = "digit-reader"
ANALYST = "analyst"
FINANCE = "fiona"
OPERATOR = "olga"
_TTL = timedelta(minutes=10)
_ANSWER_S = 10.0
"""On loopback; a service that hangs is told of soon."""


@dataclass(frozen=True, slots=True)
class Cast:
    """One client for each party."""

    consumer: AsyncAexClient
    wordsmith: AsyncAexClient
    digit_reader: AsyncAexClient
    analyst: AsyncAexClient
    finance: AsyncAexClient
    operator: AsyncAexClient


@asynccontextmanager
async def gathered(endpoints: Endpoints, issuer: LocalIssuer) -> AsyncIterator[Cast]:
    """The cast on a running suite. Consumer and agents belong to different organisations, or it were self-dealing."""
    # No proxies: the environment's may not know the way to loopback.
    async with httpx.AsyncClient(trust_env=False) as http:

        def party(name: str, role: Audience, org: str | None = None) -> AsyncAexClient:
            token = issuer.mint(name, role, org=org, ttl=_TTL)
            return AsyncAexClient(endpoints, token, http=http, timeout_s=_ANSWER_S)

        yield Cast(
            consumer=party(CONSUMER, Audience.CONSUMER, "acme-inc"),
            wordsmith=party(WORDSMITH, Audience.AGENT, "word-works"),
            digit_reader=party(DIGIT_READER, Audience.AGENT, "number-works"),
            analyst=party(ANALYST, Audience.AGENT, "lab-works"),
            finance=party(FINANCE, Audience.FINANCE),
            operator=party(OPERATOR, Audience.OPERATOR),
        )
