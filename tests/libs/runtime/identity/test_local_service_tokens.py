"""Services call each other with tokens that are short-lived, cached and meant for one audience."""

from datetime import timedelta
from pathlib import Path

import pytest

from aex_models.audiences import Audience
from aex_runtime.clock import SetClock
from aex_runtime.errors import Unauthenticated
from aex_runtime.identity.issuers import local_issuer_of
from aex_runtime.identity.local_issuer import LocalIssuer
from aex_runtime.identity.local_key import local_key
from aex_runtime.identity.local_service_tokens import LocalServiceTokens
from aex_runtime.identity.principal import Principal
from aex_runtime.identity.verifier import TokenVerifier
from aex_runtime.ids import SeededIds
from aex_runtime.telemetry import continue_trace
from tests.libs.runtime.identity.issuing import NOW


async def test_a_token_names_its_service_and_serves_one_audience(tmp_path: Path) -> None:
    clock, key = SetClock(NOW), local_key(tmp_path)
    tokens = LocalServiceTokens(LocalIssuer(key, clock, SeededIds(1)), "verification", clock)
    token = await tokens.token("governance")
    verifier = TokenVerifier([local_issuer_of(key)], "governance", clock)
    assert await verifier.verify(token) == Principal("service:verification", Audience.SERVICE)
    with pytest.raises(Unauthenticated):
        await TokenVerifier([local_issuer_of(key)], "settlement", clock).verify(token)


async def test_a_token_is_used_until_it_grows_old_and_never_expires_in_use(tmp_path: Path) -> None:
    clock, key = SetClock(NOW), local_key(tmp_path)
    tokens = LocalServiceTokens(LocalIssuer(key, clock, SeededIds(1)), "verification", clock)
    verifier = TokenVerifier([local_issuer_of(key)], "governance", clock)
    first = await tokens.token("governance")
    assert await tokens.token("governance") == first
    assert await tokens.token("settlement") != first
    seen = {first}
    for _ in range(20):
        clock.advance(timedelta(seconds=59))
        token = await tokens.token("governance")
        await verifier.verify(token)
        seen.add(token)
    assert 4 <= len(seen) <= 6


async def test_a_call_carries_token_and_trace(tmp_path: Path) -> None:
    clock = SetClock(NOW)
    tokens = LocalServiceTokens(LocalIssuer(local_key(tmp_path), clock, SeededIds(1)), "verification", clock)
    assert set(await tokens.headers("governance")) == {"Authorization"}
    with continue_trace(f"00-{'a' * 32}-{'b' * 16}-01", None, "work"):
        headers = await tokens.headers("governance")
    assert headers["traceparent"].startswith(f"00-{'a' * 32}-")
