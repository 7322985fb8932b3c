"""The issuers that a service trusts, each with those whom its tokens may name."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from aex_models.audiences import Audience
from aex_runtime.clock import Clock
from aex_runtime.identity.claimed_subjects import ClaimedSubjects
from aex_runtime.identity.key_sources import Fetch, GivenKeys, KeySource, RotatingKeys, from_file, from_url
from aex_runtime.identity.local_key import LOCAL_ISS, LocalKey
from aex_runtime.identity.subjects import Subjects
from aex_runtime.settings import IssuerSettings


@dataclass(frozen=True, slots=True)
class Issuer:
    """Who may sign tokens, with which algorithms, and whom they name."""

    iss: str
    algorithms: tuple[str, ...]
    keys: KeySource
    subjects: Subjects


def local_issuer_of(key: LocalKey) -> Issuer:
    """The installation's own issuer; it grants every role."""
    return Issuer(LOCAL_ISS, ("EdDSA",), GivenKeys([key.jwk()]), ClaimedSubjects(frozenset(Audience)))


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


def _fetch(jwks: str) -> Fetch:
    parts = urlsplit(jwks)
    return from_url(jwks) if parts.scheme == "https" else from_file(Path(parts.path if parts.scheme else jwks))
