import asyncio
import json
from datetime import timedelta
from pathlib import Path

import httpx
import pytest

from aex_runtime.clock import SetClock
from aex_runtime.errors import TemporarilyUnavailable
from aex_runtime.identity.issuers import (
    FRESH_FOR,
    MAX_JWKS_BYTES,
    REFRESH_AT_MOST_EVERY,
    InvalidJwks,
    JwksCache,
    StaticKeys,
    jwks_file_fetcher,
    jwks_url_fetcher,
    parse_jwks,
)
from tests.libs.runtime.identity.issuing import NOW, Signer, signer, write_jwks


class Source:
    def __init__(self, *signers: Signer) -> None:
        self.signers = list(signers)
        self.fetches = 0
        self.down = False
        self.gate = asyncio.Event()
        self.gate.set()

    async def fetch(self) -> bytes:
        self.fetches += 1
        await self.gate.wait()
        if self.down:
            raise ConnectionError
        return json.dumps({"keys": [each.jwk() for each in self.signers]}).encode()


def keys_of(source: Source) -> tuple[JwksCache, SetClock]:
    clock = SetClock(NOW)
    return JwksCache("https://issuer.test", source.fetch, clock), clock


async def test_keys_are_kept_and_a_new_key_is_fetched() -> None:
    source = Source(signer(kid="a"))
    keys, clock = keys_of(source)
    for _ in range(5):
        assert await keys.find_key("a")
    assert source.fetches == 1
    source.signers.append(signer(kid="b"))
    clock.advance(REFRESH_AT_MOST_EVERY)
    assert await keys.find_key("b")


async def test_unknown_keys_are_fetched_once_per_interval() -> None:
    source = Source(signer(kid="a"))
    keys, clock = keys_of(source)
    found = await asyncio.gather(*(keys.find_key(f"made-up-{number}") for number in range(100)))
    assert not any(found)
    assert source.fetches == 1
    clock.advance(REFRESH_AT_MOST_EVERY)
    await asyncio.gather(*(keys.find_key(f"made-up-{number}") for number in range(100)))
    assert source.fetches == 2


async def test_refresh_drops_withdrawn_keys_and_a_failed_one_drops_none() -> None:
    source = Source(signer(kid="a"), signer(kid="b"))
    keys, clock = keys_of(source)
    assert await keys.find_key("b")
    source.signers.pop()
    clock.advance(FRESH_FOR + timedelta(seconds=1))
    assert await keys.find_key("b") is None
    source.down = True
    clock.advance(FRESH_FOR * 2)
    assert await keys.find_key("a")


async def test_unreachable_issuer_is_temporarily_unavailable() -> None:
    source = Source(signer(kid="a"))
    source.down = True
    keys, clock = keys_of(source)
    for _ in range(3):
        with pytest.raises(TemporarilyUnavailable):
            await keys.find_key("a")
    assert source.fetches == 1
    source.down = False
    clock.advance(REFRESH_AT_MOST_EVERY)
    assert await keys.find_key("a")


async def test_refresh_does_not_delay_known_keys() -> None:
    source = Source(signer(kid="a"))
    keys, clock = keys_of(source)
    await keys.find_key("a")
    clock.advance(FRESH_FOR * 2)
    source.gate.clear()
    refreshing = asyncio.create_task(keys.find_key("a"))
    await asyncio.sleep(0)
    assert await keys.find_key("a")
    source.gate.set()
    assert await refreshing


async def test_keys_follow_their_file(tmp_path: Path) -> None:
    clock = SetClock(NOW)
    path = write_jwks(tmp_path / "jwks.json", signer(kid="a"))
    keys = JwksCache("file", jwks_file_fetcher(path), clock)
    assert await keys.find_key("a")
    write_jwks(path, signer(kid="b"))
    clock.advance(REFRESH_AT_MOST_EVERY)
    assert await keys.find_key("b")
    path.unlink()
    clock.advance(FRESH_FOR * 2)
    assert await keys.find_key("b")


def answering(status: int, content: bytes = b"", **headers: str) -> httpx.MockTransport:
    return httpx.MockTransport(lambda _: httpx.Response(status, content=content, headers=headers))


async def test_keys_are_fetched_from_a_url() -> None:
    content = json.dumps({"keys": [signer(kid="a").jwk()]}).encode()
    assert await jwks_url_fetcher("https://idp.test/jwks", answering(200, content))() == content
    with pytest.raises(OSError, match="ConnectError"):
        await jwks_url_fetcher("https://127.0.0.1:1/jwks")()


@pytest.mark.parametrize("status", [301, 302, 404, 500])
async def test_error_status_is_an_os_error(status: int) -> None:
    with pytest.raises(OSError, match="HTTPStatusError"):
        await jwks_url_fetcher("https://idp.test/jwks", answering(status, location="https://evil.test/"))()


async def test_a_giant_key_set_is_refused() -> None:
    with pytest.raises(InvalidJwks, match="too large"):
        await jwks_url_fetcher("https://idp.test/jwks", answering(200, b" " * (MAX_JWKS_BYTES + 1)))()


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"keys": 5', b"\xff", b'"keys"'])
def test_malformed_key_set_is_refused(content: bytes) -> None:
    with pytest.raises(InvalidJwks):
        parse_jwks(content)


def test_keys_of_unknown_kinds_are_skipped() -> None:
    good = signer(kid="good").jwk()
    entries = [
        *(5, {}, {"kid": 7, "kty": "OKP"}),
        {"kid": "quantum", "kty": "ML-DSA"},
        {"kid": "broken", "kty": "OKP", "crv": "Ed25519", "x": "!"},
        {**good, "kid": "encryption", "use": "enc"},
        good,
    ]
    assert set(parse_jwks(json.dumps({"keys": entries}).encode())) == {"good"}
    assert parse_jwks(b'{"keys": {}}') == {}


async def test_given_keys_are_found_by_their_id() -> None:
    keys = StaticKeys([signer(kid="a").jwk()])
    assert await keys.find_key("a")
    assert await keys.find_key("b") is None
