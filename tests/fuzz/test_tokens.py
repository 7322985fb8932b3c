"""Tokens: forged, damaged, or signed with claims that nobody should sign. They name a principal or are refused."""

import base64
import json
from typing import Any

import jwt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_models.audiences import Audience
from aex_runtime.clock import SetClock
from aex_runtime.errors import Unauthenticated
from aex_runtime.identity.issuers import configured_issuers, google_issuer
from aex_runtime.identity.principal import Principal
from aex_runtime.identity.verifier import TokenVerifier
from aex_runtime.settings import IssuerSettings
from tests.fuzz.effort import effort
from tests.fuzz.values import JSON, ODD, TEXT
from tests.libs.runtime.identity.issuing import CLAIMS, NOW, Signer, signer, write_jwks
from tests.parts.google import ACCOUNTS

CLAIM_NAMES = st.sampled_from([*sorted(CLAIMS), "org", "nbf", "jti"])


@pytest.fixture(scope="module")
def signing() -> Signer:
    return signer("EdDSA")


@pytest.fixture(scope="module")
def verifier(signing: Signer, tmp_path_factory: pytest.TempPathFactory) -> TokenVerifier:
    jwks = write_jwks(tmp_path_factory.mktemp("keys") / "jwks.json", signing)
    trusted = {"iss": CLAIMS["iss"], "roles": ["consumer", "agent"], "jwks": str(jwks), "algorithms": ["EdDSA"]}
    clock = SetClock(NOW)
    return TokenVerifier(configured_issuers([IssuerSettings.model_validate(trusted)], clock), "settlement", clock)


async def named(verifier: TokenVerifier, token: str) -> Principal | None:
    try:
        return await verifier.verify(token)
    except Unauthenticated as refused:
        assert refused.message  # noqa: PT017 either of the two may happen
        return None


def part(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


@effort()
@given(st.text(max_size=60) | st.lists(JSON.map(part) | TEXT, min_size=1, max_size=4).map(".".join))
async def test_what_nobody_signed_names_nobody(verifier: TokenVerifier, token: str) -> None:
    assert await named(verifier, token) is None


@effort()
@given(
    st.fixed_dictionaries({}, optional=dict.fromkeys(("alg", "kid", "typ", "crit", "b64", "jwk", "jku"), JSON)),
    st.sampled_from([CLAIMS, {"iss": CLAIMS["iss"]}, []]),
)
async def test_a_forged_header_names_nobody(verifier: TokenVerifier, header: dict[str, Any], claims: Any) -> None:
    for signature in ("", part("x")):
        assert (
            await named(verifier, f"{part({'alg': 'EdDSA', 'kid': 'k1', **header})}.{part(claims)}.{signature}") is None
        )


@effort()
@given(st.dictionaries(CLAIM_NAMES, JSON | st.floats() | st.integers(), max_size=3))
async def test_odd_claims_under_a_good_signature_name_a_whole_principal_or_nobody(
    verifier: TokenVerifier, signing: Signer, claims: dict[str, Any]
) -> None:
    payload = json.dumps({**CLAIMS, **claims}).encode()
    token = jwt.PyJWS().encode(payload, signing.private, "EdDSA", headers={"kid": "k1"})
    principal = await named(verifier, token)
    if principal is not None:
        whole = {**CLAIMS, **claims}
        assert (principal.id, principal.org, principal.role.value) == (whole["sub"], whole.get("org"), whole["role"])
        assert principal.expires_at is not None
        assert principal.expires_at > NOW


@effort()
@given(ODD.filter(lambda value: not isinstance(value, dict)))
async def test_a_signed_payload_that_is_no_set_of_claims_names_nobody(
    verifier: TokenVerifier, signing: Signer, value: Any
) -> None:
    payload = value if isinstance(value, bytes) else repr(value).encode("utf-8", "replace")
    token = jwt.PyJWS().encode(payload, signing.private, "EdDSA", headers={"kid": "k1"})
    assert await named(verifier, token) is None


@effort()
@given(st.integers(0, 10_000), st.integers(1, 255))
async def test_a_good_token_changed_anywhere_names_nobody_new(
    verifier: TokenVerifier, signing: Signer, place: int, change: int
) -> None:
    good = signing.sign()
    raw = bytearray(good.encode())
    raw[place % len(raw)] ^= change
    principal = await named(verifier, raw.decode("latin-1"))
    assert principal in (None, await named(verifier, good))


@pytest.fixture(scope="module")
def google_keys() -> Signer:
    return signer("RS256")


@pytest.fixture(scope="module")
def of_services(google_keys: Signer, tmp_path_factory: pytest.TempPathFactory) -> TokenVerifier:
    jwks = write_jwks(tmp_path_factory.mktemp("google") / "jwks.json", google_keys)
    clock = SetClock(NOW)
    return TokenVerifier([google_issuer(ACCOUNTS, str(jwks), clock)], "settlement", clock)


@effort()
@given(
    st.dictionaries(
        st.sampled_from(["iss", "aud", "sub", "email", "email_verified", "role", "org", "exp", "iat"]),
        JSON | st.floats() | st.integers() | st.sampled_from([*ACCOUNTS.values(), "service", True]),
        max_size=3,
    )
)
async def test_odd_claims_under_googles_signature_name_the_accounts_service_or_nobody(
    of_services: TokenVerifier, google_keys: Signer, claims: dict[str, Any]
) -> None:
    good = {
        "iss": "https://accounts.google.com",
        "aud": "aex:settlement",
        "sub": "106784563219",
        "email": ACCOUNTS["verification"],
        "email_verified": True,
        "exp": CLAIMS["exp"],
    }
    whole = {**good, **claims}
    token = jwt.PyJWS().encode(json.dumps(whole).encode(), google_keys.private, "RS256", headers={"kid": "k1"})
    principal = await named(of_services, token)
    if principal is not None:
        assert (principal.role, principal.org) == (Audience.SERVICE, None)
        assert whole["email_verified"] is True
        assert ACCOUNTS[principal.id.removeprefix("service:")] == whole["email"]
