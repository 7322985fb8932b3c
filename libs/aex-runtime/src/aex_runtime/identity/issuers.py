"""The issuers that a service trusts, each with the roles it may grant."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from aex_models.audiences import Audience
from aex_runtime.clock import Clock
from aex_runtime.identity.key_sources import Fetch, GivenKeys, KeySource, RotatingKeys, from_file, from_url
from aex_runtime.identity.local_key import LOCAL_ISS, LocalKey
from aex_runtime.settings import IssuerSettings


@dataclass(frozen=True, slots=True)
class Issuer:
    """Who may sign tokens, with which algorithms, for which roles."""

    iss: str
    roles: frozenset[Audience]
    algorithms: tuple[str, ...]
    keys: KeySource


def local_issuer_of(key: LocalKey) -> Issuer:
    """The embedded installation's own issuer; it grants every role."""
    return Issuer(LOCAL_ISS, frozenset(Audience), ("EdDSA",), GivenKeys([key.jwk()]))


def configured_issuers(settings: Sequence[IssuerSettings], clock: Clock) -> list[Issuer]:
    """The issuers of the settings."""
    return [
        Issuer(each.iss, each.roles, tuple(each.algorithms), RotatingKeys(each.iss, _fetch(each.jwks), clock))
        for each in settings
    ]


def _fetch(jwks: str) -> Fetch:
    parts = urlsplit(jwks)
    return from_url(jwks) if parts.scheme == "https" else from_file(Path(parts.path if parts.scheme else jwks))
