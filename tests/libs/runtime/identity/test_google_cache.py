import asyncio
from datetime import timedelta
from typing import Any

import pytest
from structlog.testing import capture_logs

from aex_runtime.clock import SetClock
from aex_runtime.errors import TemporarilyUnavailable
from aex_runtime.identity.google import (
    PAUSE,
    RENEW_BEFORE,
    GoogleServiceTokens,
    MetadataServer,
    NoIdToken,
    check_and_get_token_end,
)
from aex_runtime.ids import SeededIds
from aex_runtime.telemetry import continue_trace
from tests.libs.runtime.identity.issuing import NOW, part
from tests.parts.google import ACCOUNTS, LIFETIME_S, CannedResponse, GoogleStub

ACCOUNT = ACCOUNTS["verification"]
LASTS = timedelta(seconds=LIFETIME_S)


def tokens_of(google: GoogleStub) -> tuple[GoogleServiceTokens, SetClock]:
    clock = SetClock(NOW)
    google.now = clock.now
    return GoogleServiceTokens(ACCOUNT, MetadataServer(google.host, SeededIds(1)).fetch_id_token, clock), clock


async def test_token_is_fetched_per_audience_and_renewed_before_its_end(google: GoogleStub) -> None:
    tokens, clock = tokens_of(google)
    first = await tokens.get_token("governance")
    clock.advance(LASTS - RENEW_BEFORE - timedelta(seconds=1))
    assert await tokens.get_token("governance") == first
    assert await tokens.get_token("work-publisher") != first
    assert google.audiences == ["aex:governance", "aex:work-publisher"]
    clock.advance(timedelta(seconds=1))
    assert await tokens.get_token("governance") != first
    assert google.audiences.count("aex:governance") == 2


async def test_concurrent_callers_share_one_fetch(google: GoogleStub) -> None:
    tokens, _ = tokens_of(google)
    assert len(set(await asyncio.gather(*(tokens.get_token("governance") for _ in range(50))))) == 1
    assert len(google.audiences) == 1


async def test_concurrent_callers_share_a_failure_until_the_pause_ends(google: GoogleStub) -> None:
    tokens, clock = tokens_of(google)
    google.canned, google.repeats_last = [CannedResponse(404)], True
    with capture_logs() as logs:
        found = await asyncio.gather(*(tokens.get_token("governance") for _ in range(50)), return_exceptions=True)
    assert {type(each) for each in found} == {TemporarilyUnavailable}
    assert len(google.audiences) == 1
    assert [(each["event"], each["audience"], each["reason"]) for each in logs] == [
        ("id_token_missing", "aex:governance", "status 404")
    ]
    google.canned = []
    with pytest.raises(TemporarilyUnavailable) as caught:
        await tokens.get_token("governance")
    assert caught.value.code == "service_token_unavailable"
    clock.advance(PAUSE)
    assert await tokens.get_token("governance")


async def test_token_serves_to_its_end_when_renewal_fails(google: GoogleStub) -> None:
    tokens, clock = tokens_of(google)
    first = await tokens.get_token("governance")
    google.canned, google.repeats_last = [CannedResponse(404)], True
    clock.advance(LASTS - timedelta(seconds=1))
    assert await tokens.get_token("governance") == first
    clock.advance(timedelta(seconds=1))
    with pytest.raises(TemporarilyUnavailable):
        await tokens.get_token("governance")


async def test_renewal_does_not_delay_other_callers(google: GoogleStub) -> None:
    tokens, clock = tokens_of(google)
    first = await tokens.get_token("governance")
    clock.advance(LASTS - RENEW_BEFORE)
    google.answering.clear()
    renewing = asyncio.create_task(tokens.get_token("governance"))
    await asyncio.sleep(0)
    assert await tokens.get_token("governance") == first
    google.answering.set()
    assert await renewing != first


async def test_short_token_is_renewed_after_the_pause(google: GoogleStub) -> None:
    tokens, clock = tokens_of(google)
    soon = int((NOW + timedelta(seconds=30)).timestamp())
    google.canned = [CannedResponse(body=google.sign_id_token("aex:governance", exp=soon).encode()) for _ in range(2)]
    for _ in range(5):
        await tokens.get_token("governance")
    assert len(google.audiences) == 1
    clock.advance(PAUSE)
    await tokens.get_token("governance")
    assert len(google.audiences) == 2


async def test_clock_set_back_does_not_delay_renewal(google: GoogleStub) -> None:
    tokens, clock = tokens_of(google)
    google.canned = [CannedResponse(404)]
    with pytest.raises(TemporarilyUnavailable):
        await tokens.get_token("governance")
    clock.advance(-timedelta(hours=2))
    assert await tokens.get_token("governance")


async def test_cancelled_caller_leaves_the_fetch_to_the_next(google: GoogleStub) -> None:
    tokens, _ = tokens_of(google)
    google.answering.clear()
    given_up = asyncio.create_task(tokens.get_token("governance"))
    waiting = asyncio.create_task(tokens.get_token("governance"))
    await asyncio.to_thread(google.request_received.wait)
    given_up.cancel()
    google.answering.set()
    assert await waiting
    assert given_up.cancelled()


async def test_headers_have_token_and_trace(google: GoogleStub) -> None:
    tokens, _ = tokens_of(google)
    assert set(await tokens.call_headers("governance")) == {"Authorization"}
    with continue_trace(f"00-{'a' * 32}-{'b' * 16}-01", None, "work"):
        headers = await tokens.call_headers("governance")
    assert headers["traceparent"].startswith(f"00-{'a' * 32}-")
    assert headers["Authorization"] == f"Bearer {await tokens.get_token('governance')}"


HEAD = part({"alg": "RS256"})


@pytest.mark.parametrize("text", ["", "<html>", "a.b.c", "é", f"{HEAD}.{part([])}.x", f"{HEAD}.{'[' * 500}.x"])
def test_malformed_token_is_refused(text: str) -> None:
    with pytest.raises(NoIdToken, match="no token"):
        check_and_get_token_end(text, "aex:governance", ACCOUNT, NOW)


@pytest.mark.parametrize(
    ("claims", "words"),
    [
        ({"aud": "aex:settlement"}, "for another audience"),
        ({"aud": ["aex:governance", "https://elsewhere.example"]}, "for another audience"),
        ({"email": "other@my-project.iam.gserviceaccount.com"}, f"does not run as {ACCOUNT}.*AEX_SERVICE_ACCOUNTS"),
        ({"email": None}, "does not run as"),
        ({"exp": None}, "no valid end"),
        ({"exp": int(NOW.timestamp())}, "has expired"),
        ({"exp": int(NOW.timestamp()) + 10**9}, "no valid end"),
        ({"exp": 1e300}, "no valid end"),
    ],
)
def test_token_with_other_claims_is_refused(google: GoogleStub, claims: dict[str, Any], words: str) -> None:
    google.now = SetClock(NOW).now
    assert (
        check_and_get_token_end(google.sign_id_token("aex:governance"), "aex:governance", ACCOUNT, NOW) == NOW + LASTS
    )
    with pytest.raises(NoIdToken, match=words):
        check_and_get_token_end(google.sign_id_token("aex:governance", **claims), "aex:governance", ACCOUNT, NOW)


async def test_wrong_account_is_logged(google: GoogleStub) -> None:
    tokens, _ = tokens_of(google)
    google.account = "default@my-project.iam.gserviceaccount.com"
    with capture_logs() as logs, pytest.raises(TemporarilyUnavailable):
        await tokens.get_token("governance")
    assert ACCOUNT in logs[-1]["reason"]
