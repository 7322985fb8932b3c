"""The parties of the demo. Each has an SDK client with its own token."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

import httpx

from aex_client import AsyncAexClient, Endpoints
from aex_models.audiences import Audience
from aex_runtime.identity.tokens import LocalIssuer

CONSUMER = "acme"
WORDSMITH = "wordsmith"
DIGIT_READER = "digit-reader"
ANALYST = "analyst"
CODER = "coder"
FINANCE = "fiona"
OPERATOR = "olga"


@dataclass(frozen=True, slots=True)
class DemoClients:
    """The SDK clients of the demo's parties: consumer, four agents, finance and operator."""

    consumer: AsyncAexClient
    wordsmith: AsyncAexClient
    digit_reader: AsyncAexClient
    analyst: AsyncAexClient
    coder: AsyncAexClient
    finance: AsyncAexClient
    operator: AsyncAexClient


@asynccontextmanager
async def open_demo_clients(endpoints: Endpoints, issuer: LocalIssuer) -> AsyncIterator[DemoClients]:
    """Yield one client for each party of the demo, with tokens from `issuer`; close them at the end.

    Consumer and agents belong to different organisations, because governance holds outcomes within one.
    """
    # No proxies: those of the environment may not reach loopback.
    async with httpx.AsyncClient(trust_env=False) as http:

        def client(name: str, role: Audience, org: str | None = None) -> AsyncAexClient:
            token = issuer.mint(name, role, org=org, ttl=timedelta(minutes=10))
            return AsyncAexClient(endpoints, token, http=http, timeout_s=10.0)

        yield DemoClients(
            consumer=client(CONSUMER, Audience.CONSUMER, "acme-inc"),
            wordsmith=client(WORDSMITH, Audience.AGENT, "word-works"),
            digit_reader=client(DIGIT_READER, Audience.AGENT, "number-works"),
            analyst=client(ANALYST, Audience.AGENT, "lab-works"),
            coder=client(CODER, Audience.AGENT, "code-works"),
            finance=client(FINANCE, Audience.FINANCE),
            operator=client(OPERATOR, Audience.OPERATOR),
        )
