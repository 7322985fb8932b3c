from typing import Any

import jwt
import pytest

from aex_models.audiences import Audience
from aex_models.events import SERVICES
from aex_runtime.clock import SetClock
from aex_runtime.errors import TemporarilyUnavailable, Unauthenticated
from aex_runtime.identity.issuers import google_issuer
from aex_runtime.identity.principals import Principal
from aex_runtime.identity.verifier import TokenVerifier
from tests.libs.runtime.identity.issuing import NOW
from tests.parts.google import ACCOUNTS, LIFETIME_S, GoogleStub

END = int(NOW.timestamp()) + LIFETIME_S


def verifier_of(google: GoogleStub, service: str = "governance") -> TokenVerifier:
    clock = SetClock(NOW)
    google.now = clock.now
    return TokenVerifier([google_issuer(ACCOUNTS, str(google.jwks), clock)], service, clock)


@pytest.mark.parametrize("service", SERVICES)
async def test_each_account_is_its_service(google: GoogleStub, service: str) -> None:
    verifier = verifier_of(google)
    token = google.sign_id_token("aex:governance", email=ACCOUNTS[service])
    principal = await verifier.verify(token)
    assert principal == Principal(f"service:{service}", Audience.SERVICE)
    assert principal.issuer == "https://accounts.google.com"
    assert await verifier.verify(token) is principal


WRONG_CLAIMS: dict[str, list[dict[str, Any]]] = {
    "wrong_audience": [
        {"aud": each} for each in ("aex:settlement", "governance", "https://aex-governance-1.europe-west1.run.app")
    ],
    "unverified_account": [{"email_verified": each} for each in (False, "true", 1)],
    "unknown_account": [
        {"email": "aex-verification@other-project.iam.gserviceaccount.com"},
        {"email": ACCOUNTS["verification"].upper()},
        {"email": f"{ACCOUNTS['verification']} "},
        {"email": "other@gmail.com"},
        {"email": [ACCOUNTS["verification"]]},
        {"email": "x", "role": "service"},
        {"email": "x", "sub": "service:verification", "role": "operator"},
    ],
    "unknown_issuer": [
        {"iss": each} for each in ("accounts.google.com", "https://accounts.google.com/", "http://accounts.google.com")
    ],
    "expired_token": [{"exp": int(NOW.timestamp()) - 31}],
    "invalid_token": [*({name: None} for name in ("aud", "email_verified", "email", "exp", "sub")), {"iat": END}],
}


@pytest.mark.parametrize(("code", "claims"), [(code, each) for code, many in WRONG_CLAIMS.items() for each in many])
async def test_other_token_of_google_is_refused(google: GoogleStub, claims: dict[str, Any], code: str) -> None:
    verifier = verifier_of(google)
    await verifier.verify(google.sign_id_token("aex:governance"))
    with pytest.raises(Unauthenticated) as caught:
        await verifier.verify(google.sign_id_token("aex:governance", **claims))
    assert caught.value.code == code


async def test_claimed_role_and_organisation_are_ignored(google: GoogleStub) -> None:
    verifier = verifier_of(google)
    principal = await verifier.verify(google.sign_id_token("aex:governance", role="operator", org="acme"))
    assert (principal.id, principal.role, principal.org) == ("service:verification", Audience.SERVICE, None)


async def test_token_in_another_algorithm_is_refused(google: GoogleStub) -> None:
    claims = jwt.decode(google.sign_id_token("aex:governance"), options={"verify_signature": False})
    forged = jwt.encode(claims, google.keys.private, "RS512", headers={"kid": google.keys.kid})
    with pytest.raises(Unauthenticated) as caught:
        await verifier_of(google).verify(forged)
    assert caught.value.code == "wrong_algorithm"


async def test_missing_google_keys_are_temporary(google: GoogleStub) -> None:
    verifier, token = verifier_of(google), google.sign_id_token("aex:governance")
    google.jwks.unlink()
    with pytest.raises(TemporarilyUnavailable):
        await verifier.verify(token)
