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
from aex_runtime.identity.principals import Principal
from aex_runtime.identity.verifier import TokenVerifier
from aex_runtime.setting_types import IssuerSettings
from tests.fuzz.effort import effort
from tests.fuzz.values import INVALID, JSON, TEXT
from tests.libs.runtime.identity.issuing import CLAIMS, NOW, Signer, part, signer, write_jwks
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


@effort()
@given(st.text(max_size=60) | st.lists(JSON.map(part) | TEXT, min_size=1, max_size=4).map(".".join))
async def test_unsigned_token_yields_no_principal(verifier: TokenVerifier, token: str) -> None:
    assert await named(verifier, token) is None


@effort()
@given(
    st.fixed_dictionaries({}, optional=dict.fromkeys(("alg", "kid", "typ", "crit", "b64", "jwk", "jku"), JSON)),
    st.sampled_from([CLAIMS, {"iss": CLAIMS["iss"]}, []]),
)
async def test_forged_header_yields_no_principal(verifier: TokenVerifier, header: dict[str, Any], claims: Any) -> None:
    head = part({"alg": "EdDSA", "kid": "k1", **header})
    for signature in ("", part("x")):
        assert await named(verifier, f"{head}.{part(claims)}.{signature}") is None


@effort()
@given(st.dictionaries(CLAIM_NAMES, JSON | st.floats() | st.integers(), max_size=3))
async def test_invalid_signed_claims_yield_a_complete_principal_or_none(
    verifier: TokenVerifier, signing: Signer, claims: dict[str, Any]
) -> None:
    payload = json.dumps({**CLAIMS, **claims}).encode()
    token = jwt.PyJWS().encode(payload, signing.private, "EdDSA", headers={"kid": "k1"})
    principal = await named(verifier, token)
    if principal is not None:
        sub, org, role = ({**CLAIMS, **claims}.get(name) for name in ("sub", "org", "role"))
        assert (principal.id, principal.org, principal.role.value) == (sub, org, role)
        assert principal.expires_at is not None
        assert principal.expires_at > NOW


@effort()
@given(INVALID.filter(lambda value: not isinstance(value, dict)))
async def test_signed_payload_without_claims_yields_no_principal(
    verifier: TokenVerifier, signing: Signer, value: Any
) -> None:
    payload = value if isinstance(value, bytes) else repr(value).encode("utf-8", "replace")
    token = jwt.PyJWS().encode(payload, signing.private, "EdDSA", headers={"kid": "k1"})
    assert await named(verifier, token) is None


@effort()
@given(st.integers(0, 10_000), st.integers(1, 255))
async def test_altered_token_yields_no_other_principal(
    verifier: TokenVerifier, signing: Signer, index: int, change: int
) -> None:
    good = signing.sign()
    raw = bytearray(good.encode())
    raw[index % len(raw)] ^= change
    principal = await named(verifier, raw.decode("latin-1"))
    assert principal in (None, await named(verifier, good))


@pytest.fixture(scope="module")
def google(tmp_path_factory: pytest.TempPathFactory) -> tuple[Signer, TokenVerifier]:
    keys, clock = signer("RS256"), SetClock(NOW)
    jwks = write_jwks(tmp_path_factory.mktemp("google") / "jwks.json", keys)
    return keys, TokenVerifier([google_issuer(ACCOUNTS, str(jwks), clock)], "settlement", clock)


@effort()
@given(
    st.dictionaries(
        st.sampled_from(["iss", "aud", "sub", "email", "email_verified", "role", "org", "exp", "iat"]),
        JSON | st.floats() | st.integers() | st.sampled_from([*ACCOUNTS.values(), "service", True]),
        max_size=3,
    )
)
async def test_invalid_google_claims_yield_the_account_or_none(
    google: tuple[Signer, TokenVerifier], claims: dict[str, Any]
) -> None:
    keys, verifier = google
    good = {
        "iss": "https://accounts.google.com",
        "aud": "aex:settlement",
        "sub": "106784563219",
        "email": ACCOUNTS["verification"],
        "email_verified": True,
        "exp": CLAIMS["exp"],
    }
    complete = {**good, **claims}
    token = jwt.PyJWS().encode(json.dumps(complete).encode(), keys.private, "RS256", headers={"kid": "k1"})
    principal = await named(verifier, token)
    if principal is not None:
        assert (principal.role, principal.org) == (Audience.SERVICE, None)
        assert complete["email_verified"] is True
        assert ACCOUNTS[principal.id.removeprefix("service:")] == complete["email"]
