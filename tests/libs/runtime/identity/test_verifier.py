from datetime import timedelta
from pathlib import Path
from typing import Any

import jwt
import pytest

from aex_models.audiences import Audience
from aex_runtime.clock import SetClock
from aex_runtime.errors import Unauthenticated
from aex_runtime.identity.issuers import Issuer, configured_issuers, local_issuer
from aex_runtime.identity.local_key import LOCAL_ISS, load_or_create_key
from aex_runtime.identity.principals import Principal
from aex_runtime.identity.tokens import LocalIssuer
from aex_runtime.identity.verifier import LEEWAY, MAX_TOKENS, TRUSTED_FOR, TokenCache, TokenVerifier
from aex_runtime.ids import SeededIds
from aex_runtime.setting_types import IssuerSettings
from tests.libs.runtime.identity.issuing import CLAIMS, NOW, Signer, base64url, part, signer, write_jwks

Claims = dict[str, Any]


def trusted(jwks: Path, algorithm: str = "EdDSA", iss: str = CLAIMS["iss"]) -> IssuerSettings:
    settings = {"iss": iss, "roles": ["consumer"], "jwks": str(jwks), "algorithms": [algorithm]}
    return IssuerSettings.model_validate(settings)


def trusting(tmp_path: Path, signing: Signer, *, clock: SetClock) -> TokenVerifier:
    settings = trusted(write_jwks(tmp_path / "jwks.json", signing), signing.algorithm)
    return TokenVerifier(configured_issuers([settings], clock), "settlement", clock)


@pytest.fixture
def clock() -> SetClock:
    return SetClock(NOW)


@pytest.mark.parametrize("kind", ["EdDSA", "ES256", "RS256"])
async def test_token_of_each_algorithm_names_its_principal(tmp_path: Path, clock: SetClock, kind: str) -> None:
    signing = signer(kind)
    verifier = trusting(tmp_path, signing, clock=clock)
    assert await verifier.verify(signing.sign(org="acme-group")) == Principal("acme", Audience.CONSUMER, "acme-group")
    assert await verifier.verify(signing.sign(aud="settlement")) == Principal("acme", Audience.CONSUMER, None)


SECONDS = int(NOW.timestamp())
WRONG_CLAIMS: dict[str, list[Claims]] = {
    "unknown_issuer": [{"iss": each} for each in ("https://other.test", None, 5)],
    "wrong_audience": [{"aud": ["governance"]}, {"aud": "governance"}],
    "expired_token": [{"exp": SECONDS - 31}],
    "role_not_granted": [{"role": each} for each in ("operator", "king", ["consumer"])],
    "invalid_token": [
        *({name: None} for name in ("aud", "exp", "sub", "role")),
        *({"exp": each} for each in (str(SECONDS + 60), True, 1e300, -1)),
        *({"sub": each} for each in ("", "a b", "x" * 129, 7)),
        *({"aud": []}, {"nbf": SECONDS + 31}, {"iat": SECONDS + 31}, {"iat": "yesterday"}),
        *({"org": "with space"}, {"org": 7}),
    ],
}


@pytest.mark.parametrize(("code", "claims"), [(code, each) for code, many in WRONG_CLAIMS.items() for each in many])
async def test_wrong_claim_is_refused(tmp_path: Path, clock: SetClock, claims: Claims, code: str) -> None:
    signing = signer()
    verifier = trusting(tmp_path, signing, clock=clock)
    with pytest.raises(Unauthenticated) as caught:
        await verifier.verify(_encode(signing, claims))
    assert caught.value.code == code


def _encode(signing: Signer, claims: Claims) -> str:
    all_claims = {name: value for name, value in {**CLAIMS, **claims}.items() if value is not None}
    text = f"{part({'alg': 'EdDSA', 'kid': signing.kid})}.{part(all_claims)}"
    return f"{text}.{base64url(signing.private.sign(text.encode()))}"


async def test_leeway_covers_clock_differences(tmp_path: Path, clock: SetClock) -> None:
    signing = signer()
    verifier = trusting(tmp_path, signing, clock=clock)
    await verifier.verify(signing.sign(exp=int(NOW.timestamp()) - 29, iat=int(NOW.timestamp()) + 29))


DEEP = base64url(b'{"a":' + b"[" * 2_000 + b"]" * 2_000 + b"}")


@pytest.mark.parametrize("token", ["", "é.é.é", "x" * 9_000, f"{part({})}.{part([])}.x", f"{part([])}.{DEEP}.x"])
async def test_malformed_token_is_refused(tmp_path: Path, clock: SetClock, token: str) -> None:
    with pytest.raises(Unauthenticated):
        await trusting(tmp_path, signer(), clock=clock).verify(token)


async def test_token_without_its_key_is_refused(tmp_path: Path, clock: SetClock) -> None:
    signing = signer()
    verifier = trusting(tmp_path, signing, clock=clock)
    await verifier.verify(signing.sign())
    for forged in (signer().sign(), jwt.encode(CLAIMS, signing.private, "EdDSA")):
        with pytest.raises(Unauthenticated):
            await verifier.verify(forged)


@pytest.mark.parametrize("kind", ["RS256-short", "ES256-p384"])
async def test_weak_and_mismatched_keys_are_refused(tmp_path: Path, clock: SetClock, kind: str) -> None:
    signing = signer(kind)
    all_claims = f"{part({'alg': signing.algorithm, 'kid': 'k1'})}.{part(CLAIMS)}"
    if kind == "RS256-short":
        with pytest.warns(jwt.warnings.InsecureKeyLengthWarning):
            all_claims = signing.sign()
    else:
        all_claims += f".{base64url(b'x' * 64)}"
    with pytest.raises(Unauthenticated):
        await trusting(tmp_path, signing, clock=clock).verify(all_claims)


async def test_algorithm_of_another_issuer_is_refused(tmp_path: Path, clock: SetClock) -> None:
    curve, edwards = signer("ES256", "ec"), signer("EdDSA", "ed")
    path = write_jwks(tmp_path / "jwks.json", curve, edwards)
    verifier = TokenVerifier(configured_issuers([trusted(path, "ES256")], clock), "settlement", clock)
    await verifier.verify(curve.sign())
    with pytest.raises(Unauthenticated) as caught:
        await verifier.verify(edwards.sign())
    assert caught.value.code == "wrong_algorithm"


async def test_key_of_another_issuer_is_refused(tmp_path: Path, clock: SetClock) -> None:
    one, two = signer(), signer()
    settings = [
        trusted(write_jwks(tmp_path / f"{name}.json", signing), iss=f"https://{name}.test")
        for name, signing in (("one", one), ("two", two))
    ]
    verifier = TokenVerifier(configured_issuers(settings, clock), "settlement", clock)
    await verifier.verify(one.sign(iss="https://one.test"))
    with pytest.raises(Unauthenticated):
        await verifier.verify(one.sign(iss="https://two.test"))


async def test_local_token_is_valid_at_its_audience_only(tmp_path: Path, clock: SetClock) -> None:
    key = load_or_create_key(tmp_path)
    issuer = LocalIssuer(key, clock, SeededIds(1))
    here = TokenVerifier([local_issuer(key)], "settlement", clock)
    token = issuer.mint("fin", "finance", org="acme", ttl=timedelta(minutes=1))
    assert await here.verify(token) == Principal("fin", Audience.FINANCE, "acme")
    with pytest.raises(Unauthenticated):
        await here.verify(issuer.mint("fin", "finance", ["governance"]))
    clock.advance(timedelta(minutes=1) + LEEWAY)
    with pytest.raises(Unauthenticated):
        await here.verify(token)


async def test_cached_token_expires(tmp_path: Path, clock: SetClock) -> None:
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


async def test_cached_token_skips_the_signature(
    tmp_path: Path, clock: SetClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    signing = signer()
    verifier = trusting(tmp_path, signing, clock=clock)
    principal = await verifier.verify(signing.sign())
    monkeypatch.setattr(jwt, "decode", None)
    assert await verifier.verify(signing.sign()) is principal


def test_token_cache_is_bounded_and_short() -> None:
    cache, principal = TokenCache(), Principal("acme", Audience.CONSUMER)
    later = NOW + timedelta(days=1)
    for number in range(MAX_TOKENS + 1):
        cache.put(b"t%d" % number, principal, NOW, later)
    assert cache.get(b"t0", NOW) is None
    assert cache.get(b"t1", NOW) is principal
    assert cache.get(b"t1", NOW - timedelta(seconds=1)) is None
    assert cache.get(b"t2", NOW + TRUSTED_FOR) is None


def test_duplicate_issuers_are_refused(tmp_path: Path, clock: SetClock) -> None:
    issuer: Issuer = local_issuer(load_or_create_key(tmp_path))
    assert issuer.iss == LOCAL_ISS
    with pytest.raises(ValueError, match="same iss"):
        TokenVerifier([issuer, issuer], "settlement", clock)
