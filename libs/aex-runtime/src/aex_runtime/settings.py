"""Settings that every service has, read from the environment (`AEX_…`). A service extends the class with its own."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from aex_models.audiences import Audience
from aex_models.frozen import Frozen
from aex_models.money import ZERO, Rate
from aex_runtime.google_project import PROJECT_ID

Algorithm = Literal["EdDSA", "ES256", "RS256"]
STORE_SCHEMES = ("sqlite", "firestore", "memory")
BUS_SCHEMES = ("embedded", "pubsub", "memory")
BLOBS_SCHEMES = ("file", "gs", "memory")
GOOGLE_SCHEMES = ("firestore", "pubsub")
"""Those whose URLs name a project."""
TRACES_SCHEMES = ("file", "http", "https")
_HOST_AND_PORT = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^/\s:\[\]]+):[0-9]{1,5}")
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


class IssuerSettings(Frozen):
    """Who may sign tokens: where its public keys are, which algorithms it uses and which roles it may grant."""

    iss: Annotated[str, Field(min_length=1)]
    """The `iss` claim, compared exactly."""
    roles: Annotated[frozenset[Audience], Field(min_length=1)]
    jwks: Annotated[str, Field(min_length=1)]
    """A JWKS document: the path of a file, or an https URL."""
    algorithms: Annotated[tuple[Algorithm, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _jwks_over_tls(self) -> "IssuerSettings":
        if urlsplit(self.jwks).scheme not in {"", "file", "https"}:
            raise ValueError(f"issuer {self.iss}: jwks must be a file or an https URL")
        return self


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
