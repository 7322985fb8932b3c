"""A token counts only if its issuer is trusted, signed it, meant it for us, and may grant the role."""

import base64
import hmac
import json
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization

from aex_models.audiences import Audience
from aex_runtime.clock import SetClock
from aex_runtime.errors import Unauthenticated
from aex_runtime.identity.issuers import Issuer, configured_issuers, local_issuer_of
from aex_runtime.identity.local_issuer import LocalIssuer
from aex_runtime.identity.local_key import LOCAL_ISS, local_key
from aex_runtime.identity.principal import Principal
from aex_runtime.identity.token_cache import MAX_TOKENS, TRUSTED_FOR, TokenCache
from aex_runtime.identity.verifier import LEEWAY, TokenVerifier
from aex_runtime.ids import SeededIds
from aex_runtime.settings import IssuerSettings
from tests.libs.runtime.identity.issuing import CLAIMS, NOW, Signer, signer, write_jwks

Claims = dict[str, Any]


def trusting(
    tmp_path: Path, *signers: Signer, roles: tuple[str, ...] = ("consumer",), clock: SetClock
) -> TokenVerifier:
    """A verifier of the settlement service that trusts these keys of `https://issuer.test`."""
    settings = IssuerSettings.model_validate(
        {
            "iss": CLAIMS["iss"],
            "roles": roles,
            "jwks": str(write_jwks(tmp_path / "jwks.json", *signers)),
            "algorithms": sorted({each.algorithm for each in signers}),
        }
    )
    return TokenVerifier(configured_issuers([settings], clock), "settlement", clock)


@pytest.fixture
def clock() -> SetClock:
    return SetClock(NOW)


@pytest.mark.parametrize("kind", ["EdDSA", "ES256", "RS256"])
async def test_a_token_of_each_algorithm_names_its_principal(tmp_path: Path, clock: SetClock, kind: str) -> None:
    signing = signer(kind)
    verifier = trusting(tmp_path, signing, clock=clock)
    assert await verifier.verify(signing.sign(org="acme-group")) == Principal("acme", Audience.CONSUMER, "acme-group")
    assert await verifier.verify(signing.sign(aud="settlement")) == Principal("acme", Audience.CONSUMER, None)


async def test_a_principal_knows_when_its_token_is_over_however_often_it_is_asked(
    tmp_path: Path, clock: SetClock
) -> None:
    signing = signer("EdDSA")
    verifier = trusting(tmp_path, signing, clock=clock)
    token = signing.sign(exp=int((NOW + timedelta(seconds=300)).timestamp()))
    for _ in range(2):
        assert (await verifier.verify(token)).expires_at == NOW.replace(microsecond=0) + timedelta(seconds=300) + LEEWAY
        clock.advance(timedelta(seconds=5))


@pytest.mark.parametrize(
    ("claims", "code"),
    [
        ({"iss": "https://other.test"}, "unknown_issuer"),
        ({"iss": None}, "unknown_issuer"),
        ({"iss": 5}, "unknown_issuer"),
        ({"aud": ["governance"]}, "wrong_audience"),
        ({"aud": "governance"}, "wrong_audience"),
        ({"aud": []}, "invalid_token"),
        ({"aud": None}, "invalid_token"),
        ({"exp": None}, "invalid_token"),
        ({"sub": None}, "invalid_token"),
        ({"role": None}, "invalid_token"),
        ({"exp": int(NOW.timestamp()) - 31}, "expired_token"),
        ({"exp": str(int(NOW.timestamp()) + 60)}, "invalid_token"),
        ({"exp": True}, "invalid_token"),
        ({"exp": 1e300}, "invalid_token"),
        ({"exp": -1}, "invalid_token"),
        ({"nbf": int(NOW.timestamp()) + 31}, "invalid_token"),
        ({"iat": int(NOW.timestamp()) + 31}, "invalid_token"),
        ({"iat": "yesterday"}, "invalid_token"),
        ({"role": "operator"}, "role_not_granted"),
        ({"role": "king"}, "role_not_granted"),
        ({"role": ["consumer"]}, "role_not_granted"),
        ({"sub": ""}, "invalid_token"),
        ({"sub": "a b"}, "invalid_token"),
        ({"sub": "x" * 129}, "invalid_token"),
        ({"sub": 7}, "invalid_token"),
        ({"org": "with space"}, "invalid_token"),
        ({"org": 7}, "invalid_token"),
    ],
)
async def test_a_token_with_a_wrong_claim_is_refused(
    tmp_path: Path, clock: SetClock, claims: Claims, code: str
) -> None:
    signing = signer()
    verifier = trusting(tmp_path, signing, clock=clock)
    with pytest.raises(Unauthenticated) as caught:
        await verifier.verify(_encode(signing, claims))
    assert caught.value.code == code


def _encode(signing: Signer, claims: Claims) -> str:
    """Signed without the checks that PyJWT makes of what it signs."""
    whole = {name: value for name, value in {**CLAIMS, **claims}.items() if value is not None}
    head, body = ({"alg": "EdDSA", "kid": signing.kid}, whole)
    text = f"{_part(head)}.{_part(body)}"
    return f"{text}.{_base64(signing.private.sign(text.encode()))}"


def _part(value: Any) -> str:
    return _base64(json.dumps(value).encode())


def _base64(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


async def test_clocks_may_differ_a_little(tmp_path: Path, clock: SetClock) -> None:
    signing = signer()
    verifier = trusting(tmp_path, signing, clock=clock)
    await verifier.verify(signing.sign(exp=int(NOW.timestamp()) - 29, iat=int(NOW.timestamp()) + 29))


def _none(signing: Signer, _: Signer) -> str:
    return f"{_part({'alg': 'none', 'kid': signing.kid})}.{_part(CLAIMS)}."


def _none_signed(signing: Signer, _: Signer) -> str:
    return f"{_part({'alg': 'none', 'kid': signing.kid})}.{_part(CLAIMS)}.{_base64(b'x' * 64)}"


def _public_key_as_secret(signing: Signer, _: Signer) -> str:
    public = signing.private.public_key()
    raw = public.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    text = f"{_part({'alg': 'HS256', 'kid': signing.kid})}.{_part(CLAIMS)}"
    return f"{text}.{_base64(hmac.digest(raw, text.encode(), 'sha256'))}"


def _foreign_key(_: Signer, foreign: Signer) -> str:
    return foreign.sign()


def _foreign_key_in_header(_: Signer, foreign: Signer) -> str:
    return foreign.sign(headers={"jwk": foreign.jwk(), "jku": "https://evil.test/jwks"})


def _unknown_kid(signing: Signer, _: Signer) -> str:
    return signing.sign(headers={"kid": "other"})


def _no_kid(signing: Signer, _: Signer) -> str:
    return jwt.encode(CLAIMS, signing.private, "EdDSA")


def _other_body(signing: Signer, _: Signer) -> str:
    head, _body, signature = signing.sign().split(".")
    return f"{head}.{_part({**CLAIMS, 'sub': 'operator'})}.{signature}"


def _cut(signing: Signer, _: Signer) -> str:
    return signing.sign()[:-10]


def _critical(signing: Signer, _: Signer) -> str:
    return signing.sign(headers={"crit": ["exp"]})


@pytest.mark.parametrize(
    "forge",
    [
        _none,
        _none_signed,
        _public_key_as_secret,
        _foreign_key,
        _foreign_key_in_header,
        _unknown_kid,
        _no_kid,
        _other_body,
        _cut,
        _critical,
    ],
)
async def test_a_forged_token_is_refused(
    tmp_path: Path, clock: SetClock, forge: Callable[[Signer, Signer], str]
) -> None:
    signing = signer()
    verifier = trusting(tmp_path, signing, clock=clock)
    await verifier.verify(signing.sign())
    with pytest.raises(Unauthenticated):
        await verifier.verify(forge(signing, signer()))


@pytest.mark.parametrize(
    "token",
    [
        "",
        ".",
        "..",
        "a.b.c",
        "é.é.é",
        "x" * 9_000,
        "[" * 500,
        f"{_part([])}.{_part({})}.x",
        f"{_part({})}.{_part([])}.x",
    ],
)
async def test_what_is_no_token_is_refused(tmp_path: Path, clock: SetClock, token: str) -> None:
    with pytest.raises(Unauthenticated):
        await trusting(tmp_path, signer(), clock=clock).verify(token)


async def test_a_deeply_nested_token_is_refused(tmp_path: Path, clock: SetClock) -> None:
    nested = _base64(b'{"a":' + b"[" * 2_000 + b"]" * 2_000 + b"}")
    with pytest.raises(Unauthenticated):
        await trusting(tmp_path, signer(), clock=clock).verify(f"{_part({'alg': 'EdDSA'})}.{nested}.x")


@pytest.mark.parametrize("kind", ["RS256-short", "ES256-p384"])
async def test_a_weak_or_misfit_key_verifies_nothing(tmp_path: Path, clock: SetClock, kind: str) -> None:
    signing = signer(kind)
    whole = f"{_part({'alg': signing.algorithm, 'kid': 'k1'})}.{_part(CLAIMS)}"
    if kind == "RS256-short":
        with pytest.warns(jwt.warnings.InsecureKeyLengthWarning):
            whole = signing.sign()
    else:
        whole += f".{_base64(b'x' * 64)}"
    with pytest.raises(Unauthenticated):
        await trusting(tmp_path, signing, clock=clock).verify(whole)


async def test_algorithms_are_the_issuers_own(tmp_path: Path, clock: SetClock) -> None:
    curve, edwards = signer("ES256", "ec"), signer("EdDSA", "ed")
    path = write_jwks(tmp_path / "jwks.json", curve, edwards)
    settings = IssuerSettings(
        iss=CLAIMS["iss"], roles=frozenset({Audience.CONSUMER}), jwks=str(path), algorithms=("ES256",)
    )
    verifier = TokenVerifier(configured_issuers([settings], clock), "settlement", clock)
    await verifier.verify(curve.sign())
    with pytest.raises(Unauthenticated) as caught:
        await verifier.verify(edwards.sign())
    assert caught.value.code == "wrong_algorithm"


async def test_one_issuer_cannot_speak_for_another(tmp_path: Path, clock: SetClock) -> None:
    one, two = signer(), signer()
    settings = [
        IssuerSettings(
            iss=iss,
            roles=frozenset({Audience.CONSUMER}),
            jwks=f"file://{write_jwks(tmp_path / f'{name}.json', signing)}",
            algorithms=("EdDSA",),
        )
        for name, iss, signing in (("one", "https://one.test", one), ("two", "https://two.test", two))
    ]
    verifier = TokenVerifier(configured_issuers(settings, clock), "settlement", clock)
    await verifier.verify(one.sign(iss="https://one.test"))
    with pytest.raises(Unauthenticated):
        await verifier.verify(one.sign(iss="https://two.test"))


async def test_the_local_issuer_is_taken_by_the_services_it_names(tmp_path: Path, clock: SetClock) -> None:
    key = local_key(tmp_path)
    issuer = LocalIssuer(key, clock, SeededIds(1))
    here = TokenVerifier([local_issuer_of(key)], "settlement", clock)
    token = issuer.mint("fin", "finance", org="acme", ttl=timedelta(minutes=1))
    assert await here.verify(token) == Principal("fin", Audience.FINANCE, "acme")
    with pytest.raises(Unauthenticated):
        await here.verify(issuer.mint("fin", "finance", ["governance"]))
    clock.advance(timedelta(minutes=1) + LEEWAY)
    with pytest.raises(Unauthenticated):
        await here.verify(token)


async def test_a_verified_token_is_remembered_no_longer_than_it_lasts(tmp_path: Path, clock: SetClock) -> None:
    signing = signer()
    verifier = trusting(tmp_path, signing, clock=clock)
    token = signing.sign(exp=int(NOW.timestamp()) + 10)
    await verifier.verify(token)
    clock.advance(timedelta(seconds=39))
    await verifier.verify(token)
    clock.advance(timedelta(seconds=2))
    with pytest.raises(Unauthenticated) as caught:
        await verifier.verify(token)
    assert caught.value.code == "expired_token"


async def test_a_remembered_token_spares_the_signature(tmp_path: Path, clock: SetClock) -> None:
    signing = signer("RS256")
    verifier = trusting(tmp_path, signing, clock=clock)
    token = signing.sign()
    first = time.perf_counter()
    principal = await verifier.verify(token)
    took = time.perf_counter() - first
    repeats = []
    for _ in range(10):
        again = time.perf_counter()
        assert await verifier.verify(token) is principal
        repeats.append(time.perf_counter() - again)
    assert min(repeats) < took


def test_the_memory_of_tokens_is_bounded_and_short() -> None:
    cache, principal = TokenCache(), Principal("acme", Audience.CONSUMER)
    later = NOW + timedelta(days=1)
    for number in range(MAX_TOKENS + 1):
        cache.put(f"t{number}", principal, NOW, later)
    assert cache.get("t0", NOW) is None
    assert cache.get("t1", NOW) is principal
    assert cache.get("t1", NOW - timedelta(seconds=1)) is None
    assert cache.get("t2", NOW + TRUSTED_FOR) is None


def test_two_issuers_of_one_name_are_refused(tmp_path: Path, clock: SetClock) -> None:
    issuer: Issuer = local_issuer_of(local_key(tmp_path))
    assert issuer.iss == LOCAL_ISS
    with pytest.raises(ValueError, match="same iss"):
        TokenVerifier([issuer, issuer], "settlement", clock)
