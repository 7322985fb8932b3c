"""A token of Google's makes its account a service where it is one of ours, and makes nobody else anybody."""

import base64
import hmac
import json
from collections.abc import Callable
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization

from aex_models.audiences import Audience
from aex_models.events import SERVICES
from aex_runtime.clock import SetClock
from aex_runtime.errors import TemporarilyUnavailable, Unauthenticated
from aex_runtime.identity.issuers import google_issuer
from aex_runtime.identity.principal import Principal
from aex_runtime.identity.verifier import TokenVerifier
from tests.libs.runtime.identity.issuing import NOW, signer
from tests.parts.google import ACCOUNTS, LASTS_S, Google

END = int(NOW.timestamp()) + LASTS_S


def verifier_of(google: Google, service: str = "governance") -> TokenVerifier:
    """The service's, which trusts Google alone."""
    clock = SetClock(NOW)
    google.now = clock.now
    return TokenVerifier([google_issuer(ACCOUNTS, str(google.jwks), clock)], service, clock)


@pytest.mark.parametrize("service", SERVICES)
async def test_each_account_is_its_service(google: Google, service: str) -> None:
    verifier = verifier_of(google)
    token = google.id_token("aex:governance", email=ACCOUNTS[service])
    principal = await verifier.verify(token)
    assert principal == Principal(f"service:{service}", Audience.SERVICE)
    assert principal.issuer == "https://accounts.google.com"
    assert await verifier.verify(token) is principal


@pytest.mark.parametrize(
    ("claims", "code"),
    [
        ({"aud": "aex:settlement"}, "wrong_audience"),
        ({"aud": "governance"}, "wrong_audience"),
        ({"aud": "https://aex-governance-1.europe-west1.run.app"}, "wrong_audience"),
        ({"aud": None}, "invalid_token"),
        ({"email_verified": False}, "unverified_account"),
        ({"email_verified": "true"}, "unverified_account"),
        ({"email_verified": 1}, "unverified_account"),
        ({"email_verified": None}, "invalid_token"),
        ({"email": "aex-verification@other-project.iam.gserviceaccount.com"}, "unknown_account"),
        ({"email": ACCOUNTS["verification"].upper()}, "unknown_account"),
        ({"email": f"{ACCOUNTS['verification']} "}, "unknown_account"),
        ({"email": "somebody@gmail.com"}, "unknown_account"),
        ({"email": [ACCOUNTS["verification"]]}, "unknown_account"),
        ({"email": None}, "invalid_token"),
        ({"email": "x", "role": "service"}, "unknown_account"),
        ({"email": "x", "sub": "service:verification", "role": "operator"}, "unknown_account"),
        ({"iss": "accounts.google.com"}, "unknown_issuer"),
        ({"iss": "https://accounts.google.com/"}, "unknown_issuer"),
        ({"iss": "http://accounts.google.com"}, "unknown_issuer"),
        ({"exp": int(NOW.timestamp()) - 31}, "expired_token"),
        ({"exp": None}, "invalid_token"),
        ({"iat": END}, "invalid_token"),
        ({"sub": None}, "invalid_token"),
    ],
)
async def test_any_other_token_of_googles_is_refused(google: Google, claims: dict[str, Any], code: str) -> None:
    verifier = verifier_of(google)
    await verifier.verify(google.id_token("aex:governance"))
    with pytest.raises(Unauthenticated) as caught:
        await verifier.verify(google.id_token("aex:governance", **claims))
    assert caught.value.code == code


async def test_a_role_or_an_organisation_that_a_token_claims_changes_nothing(google: Google) -> None:
    verifier = verifier_of(google)
    principal = await verifier.verify(google.id_token("aex:governance", role="operator", org="acme"))
    assert (principal.id, principal.role, principal.org) == ("service:verification", Audience.SERVICE, None)


def _part(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def _public_key_as_secret(google: Google) -> str:
    _, claims, _ = google.id_token("aex:governance").split(".")
    text = f"{_part({'alg': 'HS256', 'kid': google.keys.kid})}.{claims}"
    public = google.keys.private.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    signed = base64.urlsafe_b64encode(hmac.digest(public, text.encode(), "sha256")).decode().rstrip("=")
    return f"{text}.{signed}"


def _unsigned(google: Google) -> str:
    _, claims, _ = google.id_token("aex:governance").split(".")
    return f"{_part({'alg': 'none', 'kid': google.keys.kid})}.{claims}."


def _signature_removed(google: Google) -> str:
    """As Cloud Run hands on a token that it has used up for a check of its own."""
    return google.id_token("aex:governance").rpartition(".")[0] + ".SIGNATURE_REMOVED_BY_GOOGLE"


def _unknown_kid(google: Google) -> str:
    claims = jwt.decode(google.id_token("aex:governance"), options={"verify_signature": False})
    return jwt.encode(claims, google.keys.private, "RS256", headers={"kid": "g2"})


def _other_key_of_that_name(google: Google) -> str:
    claims = jwt.decode(google.id_token("aex:governance"), options={"verify_signature": False})
    return jwt.encode(claims, signer("RS256").private, "RS256", headers={"kid": google.keys.kid})


def _other_algorithm(google: Google) -> str:
    claims = jwt.decode(google.id_token("aex:governance"), options={"verify_signature": False})
    return jwt.encode(claims, google.keys.private, "RS512", headers={"kid": google.keys.kid})


@pytest.mark.parametrize(
    ("forge", "code"),
    [
        (_public_key_as_secret, "wrong_algorithm"),
        (_unsigned, "wrong_algorithm"),
        (_signature_removed, "invalid_token"),
        (_unknown_kid, "unknown_key"),
        (_other_key_of_that_name, "invalid_token"),
        (_other_algorithm, "wrong_algorithm"),
    ],
)
async def test_a_forged_token_is_refused(google: Google, forge: Callable[[Google], str], code: str) -> None:
    verifier = verifier_of(google)
    await verifier.verify(google.id_token("aex:governance"))
    with pytest.raises(Unauthenticated) as caught:
        await verifier.verify(forge(google))
    assert caught.value.code == code


async def test_without_googles_keys_nobody_is_refused_for_good(google: Google) -> None:
    verifier, token = verifier_of(google), google.id_token("aex:governance")
    google.jwks.unlink()
    with pytest.raises(TemporarilyUnavailable):
        await verifier.verify(token)
