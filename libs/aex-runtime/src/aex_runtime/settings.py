"""Settings that every service has, read from the environment (`AEX_…`). A service extends the class with its own."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from aex_models.audiences import Audience
from aex_models.events import SERVICES
from aex_models.frozen import Frozen
from aex_models.money import ZERO, Rate
from aex_runtime.google_identity import GOOGLE_ISS, GOOGLE_JWKS, METADATA_HOST, SERVICE_ACCOUNT
from aex_runtime.google_project import PROJECT_ID

Algorithm = Literal["EdDSA", "ES256", "RS256"]
STORE_SCHEMES = ("sqlite", "firestore", "memory")
BUS_SCHEMES = ("embedded", "pubsub", "memory")
BLOBS_SCHEMES = ("file", "gs", "memory")
GOOGLE_SCHEMES = ("firestore", "pubsub")
"""Those whose URLs name a project."""
TRACES_SCHEMES = ("file", "http", "https")
_HOST_AND_PORT = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^/\s:\[\]]+):[0-9]{1,5}")
_HOST_NAME = re.compile(r"[a-z0-9-]+(?:\.[a-z0-9-]+)*", re.ASCII | re.IGNORECASE)
_SERVICE_ACCOUNT = re.compile(SERVICE_ACCOUNT, re.ASCII)
_ACCOUNTS_WANTED = (
    f"name the Google service account of each of {', '.join(SERVICES)}:"
    ' {"verification": "name@project.iam.gserviceaccount.com", …}'
)
_PORTS = {"work-publisher": 8081, "verification": 8082, "governance": 8083, "settlement": 8084}


class BadConfiguration(Exception):
    """A service cannot start with what it was configured with; the message names the place and the fix."""


@contextmanager
def blaming(variable: str, *errors: type[Exception]) -> Iterator[None]:
    """Raise `BadConfiguration`, naming the variable, for these errors of what it leads to."""
    try:
        yield
    except errors as error:
        raise BadConfiguration(f"{variable}: {error}") from error


def _of_file_or_over_tls(jwks: str) -> str:
    if urlsplit(jwks).scheme not in {"", "file", "https"}:
        raise ValueError("must be a file or an https URL")
    return jwks


Jwks = Annotated[str, Field(min_length=1), AfterValidator(_of_file_or_over_tls)]
"""A JWKS document: the path of a file, or an https URL."""


class IssuerSettings(Frozen):
    """Who may sign tokens: where its public keys are, which algorithms it uses and which roles it may grant."""

    iss: Annotated[str, Field(min_length=1)]
    """The `iss` claim, compared exactly."""
    roles: Annotated[frozenset[Audience], Field(min_length=1)]
    jwks: Jwks
    algorithms: Annotated[tuple[Algorithm, ...], Field(min_length=1)]


def _plain_url(url: str) -> str:
    if urlsplit(url).scheme not in {"http", "https"}:
        raise ValueError("must be an http or https URL")
    return url.rstrip("/")


ServiceUrl = Annotated[str, AfterValidator(_plain_url)]


def _host_and_port(text: str) -> str:
    if _HOST_AND_PORT.fullmatch(text) is None or int(text.rpartition(":")[2]) > 65_535:
        raise ValueError("must be host:port without http://, such as 127.0.0.1:8080")
    return text


EmulatorHost = Annotated[str, AfterValidator(_host_and_port)] | None


def _name_or_name_and_port(text: str) -> str:
    name, _, port = text.partition(":")
    if _HOST_NAME.fullmatch(name) is None:
        raise ValueError("must be name or name:port without http://, such as metadata.google.internal")
    return _host_and_port(text) if port or text.endswith(":") else text


MetadataHost = Annotated[str, AfterValidator(_name_or_name_and_port)]


class RuntimeSettings(BaseSettings):
    """Where a service listens, where it keeps things, whom it trusts and how it logs."""

    model_config = SettingsConfigDict(
        env_prefix="AEX_", env_ignore_empty=True, frozen=True, extra="ignore", populate_by_name=True
    )

    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65_535)] | None = None
    """Unset: the service's own port of file 7; 0: any free one."""
    data_dir: Path = Path(".aex")
    store_url: str | None = None
    bus_url: str | None = None
    blobs_url: str | None = None
    firestore_emulator_host: EmulatorHost = Field(default=None, validation_alias="FIRESTORE_EMULATOR_HOST")
    """`host:port` of an emulator in the place of Firestore, under the name that Google's tools use."""
    pubsub_emulator_host: EmulatorHost = Field(default=None, validation_alias="PUBSUB_EMULATOR_HOST")
    storage_emulator_host: str | None = Field(default=None, validation_alias="STORAGE_EMULATOR_HOST")
    """The URL of an emulator in the place of Cloud Storage."""
    key_file: Path | None = None
    """The platform's own signing key, an Ed25519 key as PEM: the same file for every service and replica. Unset: one is
    made in the data directory, for the processes that share that."""
    work_publisher_url: ServiceUrl = "http://127.0.0.1:8081"
    verification_url: ServiceUrl = "http://127.0.0.1:8082"
    governance_url: ServiceUrl = "http://127.0.0.1:8083"
    settlement_url: ServiceUrl = "http://127.0.0.1:8084"
    issuers: Annotated[tuple[IssuerSettings, ...], NoDecode] = ()
    """Issuers beside the local one, as JSON."""
    service_tokens: Literal["local", "google"] = "local"
    """Who signs the tokens with which the services call each other: the platform's own key, or Google, for the accounts
    that they run as. Then no other token makes anybody a service, but of an issuer in `issuers` that may grant it."""
    service_accounts: Annotated[Mapping[str, str], NoDecode] = Field(default_factory=dict)
    """Service → the e-mail address of its Google service account, as JSON: of all four, where tokens are Google's."""
    google_jwks: Jwks = GOOGLE_JWKS
    """Google's public keys, or a copy of them where that address cannot be reached."""
    metadata_host: MetadataHost = Field(default=METADATA_HOST, validation_alias="GCE_METADATA_HOST")
    """Where Google's metadata server is, under the name that Google's tools use."""
    fee_rate: Rate = ZERO
    """The platform's share, recorded in the terms of each contract when it is awarded."""
    rate_limit_per_s: Annotated[float, Field(ge=0)] = 200.0
    """Requests that a principal may send to this process for as long as it likes; 0: as many as it likes."""
    rate_limit_burst: Annotated[int, Field(ge=1)] = 10_000
    """Of these, at once after a pause."""
    max_connections: Annotated[int, Field(ge=1, le=100_000)] = 1_000
    """Open at once; each has at most one request under way. Fewer where the process may open fewer files."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["json", "google", "console"] = "json"
    """`google`: with the fields that Cloud Logging and Error Reporting know."""
    google_project: Annotated[str, Field(pattern=f"^{PROJECT_ID}$")] | None = None
    """What traces belong to, in log lines and where they are exported to; see `google_project_of`."""
    traces_url: str | None = None
    """Where spans go: a file, or a collector that speaks OTLP over HTTP. Unset: trace context is carried on alone."""
    traces_ratio: Annotated[float, Field(ge=0, le=1)] = 1.0
    """The share of new traces that are recorded; the same for every service."""
    traces_callers: Literal["joined", "linked"] = "joined"
    """What a request does to the trace that its caller named: it joins it, whoever asked; or it is linked with it, for
    front ends that name a trace for every request, as Cloud Run's does, and record few of them."""
    instance: Annotated[str, Field(min_length=1, max_length=100)] | None = None
    """A name for this process that its successor will have too, so that it takes over the leases of one that was
    killed at once. No two processes of a service that share a store may have the same; unset: a new name for each."""
    parent_fd: Annotated[int, Field(ge=0)] | None = None
    """The read end of a pipe: the process ends when the parent's end closes."""

    @field_validator("issuers", mode="before")
    @classmethod
    def _from_json(cls, issuers: Any) -> Any:
        if not isinstance(issuers, str):
            return issuers
        try:
            return json.loads(issuers)
        except ValueError:
            raise ValueError("AEX_ISSUERS: not JSON") from None

    @field_validator("service_accounts", mode="before")
    @classmethod
    def _accounts_from_json(cls, accounts: Any) -> Any:
        if not isinstance(accounts, str):
            return accounts
        try:
            return json.loads(accounts)
        except ValueError:
            raise ValueError(f"AEX_SERVICE_ACCOUNTS: not JSON; {_ACCOUNTS_WANTED}") from None

    @field_validator("service_accounts")
    @classmethod
    def _accounts_of_services(cls, accounts: Mapping[str, str]) -> Mapping[str, str]:
        for service, account in accounts.items():
            if service not in SERVICES:
                raise ValueError(f"AEX_SERVICE_ACCOUNTS: there is no service {service!r}; {_ACCOUNTS_WANTED}")
            if _SERVICE_ACCOUNT.fullmatch(account) is None:
                raise ValueError(
                    f"AEX_SERVICE_ACCOUNTS: {service} has {account!r}, no address of a service account;"
                    f" {_ACCOUNTS_WANTED}"
                )
        if len(set(accounts.values())) < len(accounts):
            raise ValueError("AEX_SERVICE_ACCOUNTS: two services have one account; give each its own")
        return accounts

    @model_validator(mode="after")
    def _google_knows_all_services(self) -> "RuntimeSettings":
        if self.service_tokens == "local":
            return self
        missing = ", ".join(service for service in SERVICES if service not in self.service_accounts)
        if missing:
            raise ValueError(
                f"AEX_SERVICE_ACCOUNTS: AEX_SERVICE_TOKENS=google needs the account of {missing}; {_ACCOUNTS_WANTED}"
            )
        if any(issuer.iss == GOOGLE_ISS for issuer in self.issuers):
            raise ValueError(
                f"AEX_ISSUERS: {GOOGLE_ISS} is there already, for AEX_SERVICE_TOKENS=google; take it out of the list"
            )
        return self

    @model_validator(mode="after")
    def _known_schemes(self) -> "RuntimeSettings":
        for name, url, schemes in (
            ("store_url", self.store_url, STORE_SCHEMES),
            ("bus_url", self.bus_url, BUS_SCHEMES),
            ("blobs_url", self.blobs_url, BLOBS_SCHEMES),
            ("traces_url", self.traces_url, TRACES_SCHEMES),
        ):
            if url is not None and urlsplit(url).scheme not in schemes:
                known = ", ".join(f"{scheme}://" for scheme in schemes)
                raise ValueError(f"AEX_{name.upper()}: unknown scheme in {_shown(url)!r}; one of {known}")
        return self

    def uses_data_dir(self) -> bool:
        """Whether anything is kept in the data directory: not where all that is kept has a URL or a file of its own."""
        return None in {self.store_url, self.bus_url, self.blobs_url, self.key_file}

    def port_of(self, service: str) -> int:
        """The port to listen on."""
        return _PORTS.get(service, 0) if self.port is None else self.port

    def store_url_of(self, service: str) -> str:
        """The service's own store."""
        return self.store_url or f"sqlite:///{self.data_dir}/{service}/store.sqlite3"

    def bus_url_of(self) -> str:
        """The bus that all services share."""
        return self.bus_url or f"embedded:///{self.data_dir}/bus"

    def google_project_of(self) -> str | None:
        """The project on Google Cloud: as given, else that of the store's URL, else of the bus's; None without any."""
        urls = [urlsplit(url) for url in (self.store_url, self.bus_url) if url]
        named = [url.netloc for url in urls if url.scheme in GOOGLE_SCHEMES]
        return self.google_project or next(iter(named), None)

    def blobs_url_of(self) -> str:
        """The blob store that all services share."""
        return self.blobs_url or f"file:///{self.data_dir}/blobs"


def _shown(url: str) -> str:
    """A URL without what may be secret in it."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname or ''}{parts.path}"
