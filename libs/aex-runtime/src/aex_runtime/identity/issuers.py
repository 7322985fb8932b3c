"""The issuers that a service trusts, each with those whom its tokens may name."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from aex_models.audiences import Audience
from aex_runtime.clock import Clock
from aex_runtime.google_identity import AUDIENCE_PREFIX, GOOGLE_ISS
from aex_runtime.identity.claimed_subjects import ClaimedSubjects
from aex_runtime.identity.google_subjects import GoogleSubjects
from aex_runtime.identity.key_sources import Fetch, GivenKeys, KeySource, RotatingKeys, from_file, from_url
from aex_runtime.identity.local_key import LOCAL_ISS, LocalKey
from aex_runtime.identity.subjects import Subjects
from aex_runtime.settings import IssuerSettings

EVERY_ROLE = frozenset(Audience)


@dataclass(frozen=True, slots=True)
class Issuer:
    """Who may sign tokens, with which algorithms, and whom they name."""

    iss: str
    algorithms: tuple[str, ...]
    keys: KeySource
    subjects: Subjects
    audience_prefix: str = ""
    """What `aud` has before the service's name."""


def local_issuer_of(key: LocalKey, roles: frozenset[Audience] = EVERY_ROLE) -> Issuer:
    """The installation's own issuer; it grants every role, unless it is told which."""
    return Issuer(LOCAL_ISS, ("EdDSA",), GivenKeys([key.jwk()]), ClaimedSubjects(roles))


def configured_issuers(settings: Sequence[IssuerSettings], clock: Clock) -> list[Issuer]:
    """The issuers of the settings."""
    return [
        Issuer(
            each.iss,
            tuple(each.algorithms),
            RotatingKeys(each.iss, _fetch(each.jwks), clock),
            ClaimedSubjects(each.roles),
        )
        for each in settings
    ]


def google_issuer(accounts: Mapping[str, str], jwks: str, clock: Clock) -> Issuer:
    """Google, for the services' own accounts alone. `accounts`: service → its account's e-mail address."""
    return Issuer(
        GOOGLE_ISS,
        ("RS256",),
        RotatingKeys(GOOGLE_ISS, _fetch(jwks), clock),
        GoogleSubjects({account: service for service, account in accounts.items()}),
        AUDIENCE_PREFIX,
    )


def _fetch(jwks: str) -> Fetch:
    parts = urlsplit(jwks)
    return from_url(jwks) if parts.scheme == "https" else from_file(Path(parts.path if parts.scheme else jwks))
