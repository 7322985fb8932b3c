"""Validated types of settings, and constants of Google's services."""

import re
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

from aex_models.audiences import Audience
from aex_models.frozen import Frozen

Algorithm = Literal["EdDSA", "ES256", "RS256"]
GOOGLE_ISS = "https://accounts.google.com"
"""Issuer of service accounts' tokens. Tokens of people may have `accounts.google.com`; they name no service."""
GOOGLE_JWKS = "https://www.googleapis.com/oauth2/v3/certs"
METADATA_HOST = "metadata.google.internal"
SERVICE_ACCOUNT = re.compile(r"[a-z0-9][a-z0-9-]*@[a-z0-9-]+(?:\.[a-z0-9-]+)*\.gserviceaccount\.com", re.ASCII)
"""E-mail address of a service account. Google owns the domain: no other account has a verified address in it."""
PROJECT_ID = r"(?:[a-z0-9.-]+:)?[a-z][a-z0-9-]{4,28}[a-z0-9]"
"""Pattern of a Google Cloud project's id: 6 to 30 characters after an optional domain. Match it as ASCII."""
_HOST_AND_PORT = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^/\s:\[\]]+):[0-9]{1,5}")
_HOST_NAME = re.compile(r"[a-z0-9-]+(?:\.[a-z0-9-]+)*", re.ASCII | re.IGNORECASE)


def _check_jwks(jwks: str) -> str:
    if urlsplit(jwks).scheme not in {"", "file", "https"}:
        raise ValueError("must be a file or an https URL")
    return jwks


Jwks = Annotated[str, Field(min_length=1), AfterValidator(_check_jwks)]
"""Location of a JWKS document: the path of a file, or an https URL."""


class IssuerSettings(Frozen):
    """A trusted issuer of tokens: its keys, its algorithms, and the roles that it may grant."""

    iss: Annotated[str, Field(min_length=1)]
    """Value of the claim `iss` in its tokens."""
    roles: Annotated[frozenset[Audience], Field(min_length=1)]
    """Roles that its tokens can have."""
    jwks: Jwks
    """Location of its public keys: an https URL, or a file."""
    algorithms: Annotated[tuple[Algorithm, ...], Field(min_length=1)]
    """Algorithms of its signatures; others are refused."""


def _check_url(url: str) -> str:
    if urlsplit(url).scheme not in {"http", "https"}:
        raise ValueError("must be an http or https URL")
    return url.rstrip("/")


ServiceUrl = Annotated[str, AfterValidator(_check_url)]


def _check_host_and_port(text: str) -> str:
    if _HOST_AND_PORT.fullmatch(text) is None or int(text.rpartition(":")[2]) > 65_535:
        raise ValueError("must be host:port without http://, such as 127.0.0.1:8080")
    return text


EmulatorHost = Annotated[str, AfterValidator(_check_host_and_port)] | None


def _check_host(text: str) -> str:
    name, _, port = text.partition(":")
    if _HOST_NAME.fullmatch(name) is None:
        raise ValueError("must be name or name:port without http://, such as metadata.google.internal")
    return _check_host_and_port(text) if port or text.endswith(":") else text


MetadataHost = Annotated[str, AfterValidator(_check_host)]
