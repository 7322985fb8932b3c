from typing import Any

import pytest
from structlog.testing import capture_logs

from aex_runtime.identity.google import MetadataServer, NoIdToken
from aex_runtime.identity.verifier import MAX_TOKEN_CHARS
from aex_runtime.ids import SeededIds
from tests.parts.google import CannedResponse, GoogleStub


def server(google: GoogleStub, **limits: Any) -> MetadataServer:
    return MetadataServer(google.host, SeededIds(1), **limits)


@pytest.mark.parametrize("status", [408, 429, 500, 503])
async def test_transient_failures_are_retried_and_logged(google: GoogleStub, status: int) -> None:
    google.canned = [CannedResponse(status), CannedResponse(status)]
    with capture_logs() as logs:
        assert await server(google).fetch_id_token("aex:governance")
    assert len(google.audiences) == 3
    logged = [(each["event"], each["log_level"], each["reason"]) for each in logs]
    assert logged == [("id_token_retried", "warning", f"status {status}")] * 2
    assert all(0 < each["retry_in_s"] <= 0.2 for each in logs)


@pytest.mark.parametrize(("status", "requests"), [(400, 1), (403, 1), (404, 1), (302, 1), (500, 3)])
async def test_permanent_failure_is_not_retried(google: GoogleStub, status: int, requests: int) -> None:
    google.canned, google.repeats_last = [CannedResponse(status, b"CANARY", location="http://127.0.0.1:1/")], True
    with pytest.raises(NoIdToken, match=rf"^status {status}$"):
        await server(google).fetch_id_token("aex:governance")
    assert len(google.audiences) == requests


async def test_silent_server_times_out(google: GoogleStub) -> None:
    google.answering.clear()
    for attempt_s, total_s, reason in ((0.2, 600, "TimeoutError"), (600, 0.5, "no answer within")):
        with pytest.raises(NoIdToken, match=reason):
            await server(google, attempt_s=attempt_s, total_s=total_s).fetch_id_token("aex:governance")
    assert len(google.audiences) <= 4


async def test_connection_failure_is_named() -> None:
    with pytest.raises(NoIdToken, match="ConnectError"):
        await MetadataServer("127.0.0.1:1", SeededIds(1)).fetch_id_token("aex:governance")


async def test_oversized_response_is_refused(google: GoogleStub) -> None:
    google.canned = [CannedResponse(body=b"x" * 5_000_000)]
    with pytest.raises(NoIdToken, match="longer than a token"):
        await server(google).fetch_id_token("aex:governance")
    google.canned = [CannedResponse(body=b"x" * MAX_TOKEN_CHARS)]
    assert len(await server(google).fetch_id_token("aex:governance")) == MAX_TOKEN_CHARS


async def test_non_ascii_response_is_refused(google: GoogleStub) -> None:
    google.canned = [CannedResponse(body=b"\xff\x00\xfe")]
    with pytest.raises(NoIdToken, match="no token"):
        await server(google).fetch_id_token("aex:governance")


async def test_proxies_of_the_environment_are_ignored(google: GoogleStub, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    assert await server(google).fetch_id_token("aex:governance")
