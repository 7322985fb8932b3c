import time
from typing import Any

import jwt
import pytest
from structlog.testing import capture_logs

from aex_runtime.identity.google import MetadataServer, NoIdToken
from aex_runtime.identity.verifier import MAX_TOKEN_CHARS
from aex_runtime.ids import SeededIds
from tests.parts.google import ACCOUNTS, CannedResponse, Google


def server(google: Google, **limits: Any) -> MetadataServer:
    return MetadataServer(google.host, SeededIds(1), **limits)


async def test_a_token_names_its_audience_and_the_machines_account(google: Google) -> None:
    claims = jwt.decode(await server(google).id_token("aex:governance"), options={"verify_signature": False})
    assert (claims["aud"], claims["email"], claims["email_verified"]) == (
        "aex:governance",
        ACCOUNTS["verification"],
        True,
    )
    assert google.audiences == ["aex:governance"]


@pytest.mark.parametrize("status", [408, 429, 500, 503])
async def test_transient_failures_are_retried_and_logged(google: Google, status: int) -> None:
    google.canned = [CannedResponse(status), CannedResponse(status)]
    with capture_logs() as logs:
        assert await server(google).id_token("aex:governance")
    assert len(google.audiences) == 3
    logged = [(each["event"], each["log_level"], each["reason"]) for each in logs]
    assert logged == [("id_token_retried", "warning", f"status {status}")] * 2
    assert all(0 < each["retry_in_s"] <= 0.2 for each in logs)


async def test_failing_server_gets_three_requests(google: Google) -> None:
    google.canned, google.repeats_last = [CannedResponse(500, b"CANARY")], True
    with pytest.raises(NoIdToken, match=r"^status 500$"):
        await server(google).id_token("aex:governance")
    assert len(google.audiences) == 3


@pytest.mark.parametrize(
    "response",
    [
        CannedResponse(400),
        CannedResponse(403),
        CannedResponse(404),
        CannedResponse(302, location="http://127.0.0.1:1/"),
    ],
)
async def test_permanent_failure_is_not_retried(google: Google, response: CannedResponse) -> None:
    google.canned, google.repeats_last = [response], True
    with pytest.raises(NoIdToken, match=rf"^status {response.status}$"):
        await server(google).id_token("aex:governance")
    assert len(google.audiences) == 1


async def test_silent_server_times_out(google: Google) -> None:
    google.answering.clear()
    started = time.perf_counter()
    with pytest.raises(NoIdToken, match="no answer within"):
        await server(google, attempt_s=0.2, total_s=0.5).id_token("aex:governance")
    assert time.perf_counter() - started < 2
    assert 1 <= len(google.audiences) <= 3


async def test_connection_failure_is_named() -> None:
    with pytest.raises(NoIdToken, match="ConnectError"):
        await MetadataServer("127.0.0.1:1", SeededIds(1)).id_token("aex:governance")


async def test_oversized_response_is_refused(google: Google) -> None:
    google.canned = [CannedResponse(body=b"x" * 50_000_000)]
    with pytest.raises(NoIdToken, match="longer than a token"):
        await server(google).id_token("aex:governance")
    google.canned = [CannedResponse(body=b"x" * MAX_TOKEN_CHARS)]
    assert len(await server(google).id_token("aex:governance")) == MAX_TOKEN_CHARS


async def test_non_ascii_response_is_refused(google: Google) -> None:
    google.canned = [CannedResponse(body=b"\xff\x00\xfe")]
    with pytest.raises(NoIdToken, match="no token"):
        await server(google).id_token("aex:governance")


async def test_proxies_of_the_environment_are_ignored(google: Google, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    assert await server(google).id_token("aex:governance")
