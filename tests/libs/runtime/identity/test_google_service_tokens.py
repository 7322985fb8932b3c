"""Google's tokens for calls between services are kept while they last, fetched one at a time, and missed gracefully."""

import asyncio
import base64
import json
from datetime import timedelta
from typing import Any

import pytest
from structlog.testing import capture_logs

from aex_runtime.clock import SetClock
from aex_runtime.errors import TemporarilyUnavailable
from aex_runtime.identity.google_metadata import MetadataServer, NoIdToken
from aex_runtime.identity.google_service_tokens import PAUSE, RENEW_BEFORE, GoogleServiceTokens, held_token
from aex_runtime.ids import SeededIds
from aex_runtime.telemetry import continue_trace
from tests.libs.runtime.identity.issuing import NOW
from tests.parts.google import ACCOUNTS, LASTS_S, Google, Said

ACCOUNT = ACCOUNTS["verification"]
LASTS = timedelta(seconds=LASTS_S)


def tokens_of(google: Google) -> tuple[GoogleServiceTokens, SetClock]:
    """Verification's, at a time that the test sets."""
    clock = SetClock(NOW)
    google.now = clock.now
    return GoogleServiceTokens(ACCOUNT, MetadataServer(google.host, SeededIds(1)).id_token, clock), clock


async def test_a_token_is_fetched_once_for_each_audience_and_renewed_shortly_before_its_end(google: Google) -> None:
    tokens, clock = tokens_of(google)
    first = await tokens.token("governance")
    clock.advance(LASTS - RENEW_BEFORE - timedelta(seconds=1))
    assert await tokens.token("governance") == first
    assert await tokens.token("work-publisher") != first
    assert google.asked == ["aex:governance", "aex:work-publisher"]
    clock.advance(timedelta(seconds=1))
    assert await tokens.token("governance") != first
    assert google.asked.count("aex:governance") == 2


async def test_who_calls_at_once_shares_one_fetch(google: Google) -> None:
    tokens, _ = tokens_of(google)
    assert len(set(await asyncio.gather(*(tokens.token("governance") for _ in range(50))))) == 1
    assert len(google.asked) == 1


async def test_who_waits_shares_a_failure_too_and_the_next_fetch_comes_after_a_pause(google: Google) -> None:
    tokens, clock = tokens_of(google)
    google.says, google.stubborn = [Said(404)], True
    with capture_logs() as logs:
        found = await asyncio.gather(*(tokens.token("governance") for _ in range(50)), return_exceptions=True)
    assert {type(each) for each in found} == {TemporarilyUnavailable}
    assert len(google.asked) == 1
    assert [(each["event"], each["audience"], each["reason"]) for each in logs] == [
        ("id_token_missing", "aex:governance", "status 404")
    ]
    google.says = []
    with pytest.raises(TemporarilyUnavailable) as caught:
        await tokens.token("governance")
    assert caught.value.code == "service_token_unavailable"
    clock.advance(PAUSE)
    assert await tokens.token("governance")


async def test_a_token_serves_to_its_end_while_no_new_one_can_be_had(google: Google) -> None:
    tokens, clock = tokens_of(google)
    first = await tokens.token("governance")
    google.says, google.stubborn = [Said(404)], True
    clock.advance(LASTS - timedelta(seconds=1))
    assert await tokens.token("governance") == first
    clock.advance(timedelta(seconds=1))
    with pytest.raises(TemporarilyUnavailable):
        await tokens.token("governance")


async def test_nobody_waits_for_a_renewal_while_the_old_token_serves(google: Google) -> None:
    tokens, clock = tokens_of(google)
    first = await tokens.token("governance")
    clock.advance(LASTS - RENEW_BEFORE)
    google.speaking.clear()
    renewing = asyncio.create_task(tokens.token("governance"))
    await asyncio.sleep(0)
    async with asyncio.timeout(1):
        assert await tokens.token("governance") == first
    google.speaking.set()
    assert await renewing != first


async def test_a_token_that_comes_nearly_over_is_used_and_asked_for_anew_after_a_pause(google: Google) -> None:
    tokens, clock = tokens_of(google)
    soon = int((NOW + timedelta(seconds=30)).timestamp())
    google.says = [Said(body=google.id_token("aex:governance", exp=soon).encode()) for _ in range(2)]
    for _ in range(5):
        await tokens.token("governance")
    assert len(google.asked) == 1
    clock.advance(PAUSE)
    await tokens.token("governance")
    assert len(google.asked) == 2


async def test_a_clock_that_is_set_back_keeps_nobody_waiting(google: Google) -> None:
    tokens, clock = tokens_of(google)
    google.says = [Said(404)]
    with pytest.raises(TemporarilyUnavailable):
        await tokens.token("governance")
    clock.advance(-timedelta(hours=2))
    assert await tokens.token("governance")


async def test_a_caller_that_gives_up_leaves_the_fetch_to_the_next(google: Google) -> None:
    tokens, _ = tokens_of(google)
    google.speaking.clear()
    given_up = asyncio.create_task(tokens.token("governance"))
    waiting = asyncio.create_task(tokens.token("governance"))
    await asyncio.to_thread(google.heard.wait)
    given_up.cancel()
    google.speaking.set()
    assert await waiting
    assert given_up.cancelled()


async def test_a_call_carries_token_and_trace(google: Google) -> None:
    tokens, _ = tokens_of(google)
    assert set(await tokens.headers("governance")) == {"Authorization"}
    with continue_trace(f"00-{'a' * 32}-{'b' * 16}-01", None, "work"):
        headers = await tokens.headers("governance")
    assert headers["traceparent"].startswith(f"00-{'a' * 32}-")
    assert headers["Authorization"] == f"Bearer {await tokens.token('governance')}"


def part(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


GARBAGE = (
    "",
    "<html>",
    "a.b.c",
    "é",
    f"{part({'alg': 'RS256'})}.{part([])}.x",
    f"{part({'alg': 'RS256'})}.{'[' * 500}.x",
)


@pytest.mark.parametrize("text", GARBAGE)
def test_what_is_no_token_is_not_sent(text: str) -> None:
    with pytest.raises(NoIdToken, match="no token"):
        held_token(text, "aex:governance", ACCOUNT, NOW)


@pytest.mark.parametrize(
    ("claims", "words"),
    [
        ({"aud": "aex:settlement"}, "somebody else"),
        ({"aud": ["aex:governance", "https://elsewhere.example"]}, "somebody else"),
        ({"email": "somebody@my-project.iam.gserviceaccount.com"}, f"does not run as {ACCOUNT}.*AEX_SERVICE_ACCOUNTS"),
        ({"email": None}, "does not run as"),
        ({"exp": None}, "when it ends"),
        ({"exp": int(NOW.timestamp())}, "is over"),
        ({"exp": int(NOW.timestamp()) + 10**9}, "when it ends"),
        ({"exp": 1e300}, "when it ends"),
    ],
)
def test_a_token_that_is_not_what_was_asked_for_is_not_sent(google: Google, claims: dict[str, Any], words: str) -> None:
    google.now = SetClock(NOW).now
    assert held_token(google.id_token("aex:governance"), "aex:governance", ACCOUNT, NOW).ends_at == NOW + LASTS
    with pytest.raises(NoIdToken, match=words):
        held_token(google.id_token("aex:governance", **claims), "aex:governance", ACCOUNT, NOW)


async def test_a_process_that_runs_as_somebody_else_is_told_so(google: Google) -> None:
    tokens, _ = tokens_of(google)
    google.account = "default@my-project.iam.gserviceaccount.com"
    with capture_logs() as logs, pytest.raises(TemporarilyUnavailable):
        await tokens.token("governance")
    assert ACCOUNT in logs[-1]["reason"]
