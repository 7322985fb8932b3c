"""The metadata server is asked as Google documents it, and no longer, no oftener and for no more than is good."""

import time

import jwt
import pytest
from structlog.testing import capture_logs

from aex_runtime.identity.google_metadata import FetchBounds, MetadataServer, NoIdToken
from aex_runtime.identity.verifier import MAX_TOKEN_CHARS
from aex_runtime.ids import SeededIds
from tests.parts.google import ACCOUNTS, Google, Said

SHORT = FetchBounds(attempts=3, each_s=0.2, whole_s=0.5)


def server(google: Google, bounds: FetchBounds | None = None) -> MetadataServer:
    return MetadataServer(google.host, SeededIds(1), bounds or FetchBounds())


async def test_a_token_names_its_audience_and_the_machines_account(google: Google) -> None:
    claims = jwt.decode(await server(google).id_token("aex:governance"), options={"verify_signature": False})
    assert (claims["aud"], claims["email"], claims["email_verified"]) == (
        "aex:governance",
        ACCOUNTS["verification"],
        True,
    )
    assert google.asked == ["aex:governance"]


@pytest.mark.parametrize("status", [408, 429, 500, 503])
async def test_what_passes_is_asked_again_and_told(google: Google, status: int) -> None:
    google.says = [Said(status), Said(status)]
    with capture_logs() as logs:
        assert await server(google).id_token("aex:governance")
    assert len(google.asked) == 3
    told = [(each["event"], each["log_level"], each["reason"]) for each in logs]
    assert told == [("id_token_retried", "warning", f"status {status}")] * 2
    assert all(0 < each["retry_in_s"] <= 0.2 for each in logs)


async def test_a_server_that_goes_on_failing_is_asked_three_times(google: Google) -> None:
    google.says, google.stubborn = [Said(500, b"CANARY")], True
    with pytest.raises(NoIdToken, match=r"^status 500$"):
        await server(google).id_token("aex:governance")
    assert len(google.asked) == 3


@pytest.mark.parametrize("said", [Said(400), Said(403), Said(404), Said(302, location="http://127.0.0.1:1/")])
async def test_an_answer_that_will_not_change_is_asked_for_once(google: Google, said: Said) -> None:
    google.says, google.stubborn = [said], True
    with pytest.raises(NoIdToken, match=rf"^status {said.status}$"):
        await server(google).id_token("aex:governance")
    assert len(google.asked) == 1


async def test_a_silent_server_is_given_up_in_time(google: Google) -> None:
    google.speaking.clear()
    started = time.perf_counter()
    with pytest.raises(NoIdToken, match="no answer within"):
        await server(google, SHORT).id_token("aex:governance")
    assert time.perf_counter() - started < 2
    assert 1 <= len(google.asked) <= 3


async def test_where_nobody_listens_it_says_so() -> None:
    with pytest.raises(NoIdToken, match="ConnectError"):
        await MetadataServer("127.0.0.1:1", SeededIds(1)).id_token("aex:governance")


async def test_an_answer_longer_than_a_token_is_not_read_to_its_end(google: Google) -> None:
    google.says = [Said(body=b"x" * 50_000_000)]
    with pytest.raises(NoIdToken, match="longer than a token"):
        await server(google).id_token("aex:governance")
    google.says = [Said(body=b"x" * MAX_TOKEN_CHARS)]
    assert len(await server(google).id_token("aex:governance")) == MAX_TOKEN_CHARS


async def test_bytes_that_are_no_text_are_no_token(google: Google) -> None:
    google.says = [Said(body=b"\xff\x00\xfe")]
    with pytest.raises(NoIdToken, match="no token"):
        await server(google).id_token("aex:governance")


async def test_no_proxy_of_the_environment_is_told(google: Google, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    assert await server(google).id_token("aex:governance")
