from datetime import timedelta
from pathlib import Path

import pytest

from aex_models.audiences import Audience
from aex_runtime.clock import SetClock
from aex_runtime.errors import Unauthenticated
from aex_runtime.identity.issuers import local_issuer
from aex_runtime.identity.local_key import load_or_create_key
from aex_runtime.identity.principals import Principal
from aex_runtime.identity.tokens import LocalIssuer, LocalServiceTokens
from aex_runtime.identity.verifier import TokenVerifier
from aex_runtime.ids import SeededIds
from aex_runtime.telemetry import continue_trace
from tests.libs.runtime.identity.issuing import NOW


async def test_service_token_is_cached_per_audience_and_renewed(tmp_path: Path) -> None:
    clock, key = SetClock(NOW), load_or_create_key(tmp_path)
    tokens = LocalServiceTokens(LocalIssuer(key, clock, SeededIds(1)), "verification", clock)
    verifier = TokenVerifier([local_issuer(key)], "governance", clock)
    first = await tokens.get_token("governance")
    assert await verifier.verify(first) == Principal("service:verification", Audience.SERVICE)
    with pytest.raises(Unauthenticated):
        await TokenVerifier([local_issuer(key)], "settlement", clock).verify(first)
    assert await tokens.get_token("governance") == first
    assert await tokens.get_token("settlement") != first
    seen = {first}
    for _ in range(20):
        clock.advance(timedelta(seconds=59))
        token = await tokens.get_token("governance")
        await verifier.verify(token)
        seen.add(token)
    assert 4 <= len(seen) <= 6
    assert set(await tokens.call_headers("governance")) == {"Authorization"}
    with continue_trace(f"00-{'a' * 32}-{'b' * 16}-01", None, "work"):
        assert (await tokens.call_headers("governance"))["traceparent"].startswith(f"00-{'a' * 32}-")
