from pathlib import Path
from typing import Any

import pytest

from aex_models.audiences import Audience
from aex_runtime.clock import WallClock
from aex_runtime.errors import Unauthenticated
from aex_runtime.identity.local_key import load_or_create_key
from aex_runtime.identity.principals import Principal
from aex_runtime.identity.tokens import LocalIssuer, open_service_tokens, trusted_issuers
from aex_runtime.identity.verifier import TokenVerifier
from aex_runtime.ids import RandomIds
from aex_runtime.settings import RuntimeSettings
from tests.libs.runtime.identity.issuing import CLAIMS, signer, write_jwks
from tests.parts.google import ACCOUNTS, GoogleStub


def chosen(google: GoogleStub, tokens: str, **values: object) -> RuntimeSettings:
    return RuntimeSettings.model_validate(
        {
            "service_tokens": tokens,
            "service_accounts": ACCOUNTS,
            "google_jwks": str(google.jwks),
            "metadata_host": google.host,
            **values,
        }
    )


def verifier_of(settings: RuntimeSettings, folder: Path, service: str = "governance") -> TokenVerifier:
    return TokenVerifier(trusted_issuers(settings, load_or_create_key(folder), WallClock()), service, WallClock())


@pytest.mark.parametrize("tokens", ["local", "google"])
async def test_service_token_names_its_service(google: GoogleStub, tmp_path: Path, tokens: str) -> None:
    settings, clock, ids = chosen(google, tokens), WallClock(), RandomIds()
    issuer = LocalIssuer(load_or_create_key(tmp_path), clock, ids)
    token = await open_service_tokens(settings, "verification", issuer, clock, ids).get_token("governance")
    caller = await verifier_of(settings, tmp_path).verify(token)
    assert caller == Principal("service:verification", Audience.SERVICE)
    assert bool(google.audiences) is (tokens == "google")
    with pytest.raises(Unauthenticated):
        await verifier_of(settings, tmp_path, "settlement").verify(token)
    other = "local" if tokens == "google" else "google"
    with pytest.raises(Unauthenticated):
        await verifier_of(chosen(google, other), tmp_path).verify(token)


async def test_with_google_the_local_key_cannot_grant_service(google: GoogleStub, tmp_path: Path) -> None:
    verifier = verifier_of(chosen(google, "google"), tmp_path)
    own = LocalIssuer(load_or_create_key(tmp_path), WallClock(), RandomIds())
    for role in set(Audience) - {Audience.SERVICE}:
        assert (await verifier.verify(own.mint("olga", role))).role is role
    for audience in ("governance", "aex:governance"):
        with pytest.raises(Unauthenticated) as caught:
            await verifier.verify(own.mint("service:verification", Audience.SERVICE, [audience, "governance"]))
        assert caught.value.code == "role_not_granted"


@pytest.mark.parametrize("claims", [{}, {"email": ACCOUNTS["verification"], "email_verified": True}])
async def test_google_tokens_leave_other_issuers_checked(
    google: GoogleStub, tmp_path: Path, claims: dict[str, Any]
) -> None:
    partner = signer()
    trusted = {
        "iss": CLAIMS["iss"],
        "roles": ["consumer"],
        "jwks": str(write_jwks(tmp_path / "partner.json", partner)),
        "algorithms": ["EdDSA"],
    }
    verifier = verifier_of(chosen(google, "google", issuers=[trusted]), tmp_path)
    now = int(WallClock().now().timestamp())
    times: dict[str, Any] = {"iat": now, "exp": now + 600}
    assert (await verifier.verify(partner.sign(aud="governance", **times, **claims))).id == "acme"
    for change, code in (
        ({"role": None}, "invalid_token"),
        ({"role": "service"}, "role_not_granted"),
        ({"aud": "aex:governance"}, "wrong_audience"),
        ({"iss": "https://accounts.google.com"}, "wrong_algorithm"),
    ):
        with pytest.raises(Unauthenticated) as caught:
            await verifier.verify(partner.sign(**{"aud": "governance", **times, **claims, **change}))
        assert caught.value.code == code
