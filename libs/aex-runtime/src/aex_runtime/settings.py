"""Settings of every service, read from the environment (`AEX_…`). A service extends the class."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import Field, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from aex_models.events import SERVICES
from aex_models.money import ZERO, Rate
from aex_runtime import setting_types as types

STORE_SCHEMES = ("sqlite", "firestore", "memory")
BUS_SCHEMES = ("embedded", "pubsub", "memory")
BLOBS_SCHEMES = ("file", "gs", "memory")
_LOCAL_SCHEMES = ("sqlite", "embedded", "file")
GOOGLE_SCHEMES = ("firestore", "pubsub")
"""Schemes whose URLs name a Google Cloud project."""
TRACES_SCHEMES = ("file", "http", "https")
_ACCOUNTS_HINT = (
    f"name the Google service account of each of {', '.join(SERVICES)}:"
    ' {"verification": "name@project.iam.gserviceaccount.com", …}'
)
_PORTS = {"work-publisher": 8081, "verification": 8082, "governance": 8083, "settlement": 8084}


class BadConfiguration(Exception):
    """A configuration with which a service cannot start. The message names the variable and the fix."""


@contextmanager
def as_bad_configuration(variable: str, *errors: type[Exception]) -> Iterator[None]:
    """Raise `BadConfiguration`, with the name of the variable, for these errors of the block."""
    try:
        yield
    except errors as error:
        raise BadConfiguration(f"{variable}: {error}") from error


class RuntimeSettings(BaseSettings):
    """The settings that all services have: addresses, storage, trust, limits, logs and traces."""

    model_config = SettingsConfigDict(
        env_prefix="AEX_", env_ignore_empty=True, frozen=True, extra="ignore", populate_by_name=True
    )

    host: str = "127.0.0.1"
    """Address that the process listens on."""
    port: Annotated[int, Field(ge=0, le=65_535)] | None = None
    """Port that the process listens on. Unset: the service's own, 8081 to 8084; 0: any free port."""
    data_dir: Path = Path(".aex")
    """Folder of everything that has no URL or file of its own."""
    store_url: str | None = None
    """Records: `sqlite:///path` or `firestore://project/database`. Unset: a file in the data directory."""
    bus_url: str | None = None
    """Events: `embedded:///path` or `pubsub://project`. Unset: queue files in the data directory."""
    blobs_url: str | None = None
    """Blobs: `file:///path` or `gs://bucket/prefix`. Unset: a folder in the data directory."""
    event_data_url: str | None = None
    """Blob store of large events' data, shared by all services. Unset: the store of all other blobs."""
    firestore_emulator_host: types.EmulatorHost = Field(default=None, validation_alias="FIRESTORE_EMULATOR_HOST")
    """`host:port` of a Firestore emulator, under the name that Google's tools use."""
    pubsub_emulator_host: types.EmulatorHost = Field(default=None, validation_alias="PUBSUB_EMULATOR_HOST")
    """`host:port` of a Pub/Sub emulator, under the name that Google's tools use."""
    storage_emulator_host: str | None = Field(default=None, validation_alias="STORAGE_EMULATOR_HOST")
    """URL of an emulator of Cloud Storage, under the name that Google's tools use."""
    key_file: Path | None = None
    """The platform's signing key (Ed25519, PEM), the same file for every service and replica. Unset: a key is created
    in the data directory, for the processes that share it."""
    work_publisher_url: types.ServiceUrl = "http://127.0.0.1:8081"
    """URL of work-publisher for the other services."""
    verification_url: types.ServiceUrl = "http://127.0.0.1:8082"
    """URL of verification for the other services."""
    governance_url: types.ServiceUrl = "http://127.0.0.1:8083"
    """URL of governance for the other services."""
    settlement_url: types.ServiceUrl = "http://127.0.0.1:8084"
    """URL of settlement for the other services."""
    issuers: Annotated[tuple[types.IssuerSettings, ...], NoDecode] = ()
    """Issuers of tokens beside the suite itself, as a JSON list of `iss`, `roles`, `jwks` and `algorithms`."""
    service_tokens: Literal["local", "google"] = "local"
    """Signer of tokens between services: the platform's key, or Google for the services' accounts. With Google, only
    its tokens and those of a configured issuer can grant the role `service`."""
    service_accounts: Annotated[Mapping[str, str], NoDecode] = Field(default_factory=dict)
    """Service → e-mail address of its Google service account, as JSON; all four are required with Google's tokens."""
    google_jwks: types.Jwks = types.GOOGLE_JWKS
    """Google's public keys, or a copy of them."""
    metadata_host: types.MetadataHost = Field(default=types.METADATA_HOST, validation_alias="GCE_METADATA_HOST")
    """Google's metadata server, under the name that Google's tools use."""
    fee_rate: Rate = ZERO
    """The platform's share, recorded in a contract's terms at its award."""
    rate_limit_per_s: Annotated[float, Field(ge=0)] = 200.0
    """Sustained requests a second of one principal to this process; 0: unlimited."""
    rate_limit_burst: Annotated[int, Field(ge=1)] = 10_000
    """Requests of one principal at once after a pause."""
    quota_bytes: Annotated[int, Field(ge=0)] = 10_000_000_000
    """Bytes of one principal's uploads to this service, each distinct file once; 0: unlimited."""
    min_free_bytes: Annotated[int, Field(ge=0)] = 1_000_000_000
    """Free bytes on the data directory's disk below which no new works, uploads and candidates are accepted."""
    max_connections: Annotated[int, Field(ge=1, le=100_000)] = 1_000
    """Open connections, each with at most one request in progress; the limit of open files may lower it."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """Least level of the log lines that are written."""
    log_format: Literal["json", "google", "console"] = "json"
    """Form of log lines: JSON, JSON with the fields of Cloud Logging and Error Reporting, or readable text."""
    google_project: Annotated[str, Field(pattern=f"^{types.PROJECT_ID}$")] | None = None
    """Google Cloud project of traces and log lines. Unset: the one in the URL of store or bus."""
    traces_url: str | None = None
    """Destination of spans: a file, or a collector with OTLP over HTTP. Unset: trace context is only passed on."""
    traces_ratio: Annotated[float, Field(ge=0, le=1)] = 1.0
    """Share of new traces that are recorded, equal for every service."""
    traces_callers: Literal["joined", "linked"] = "joined"
    """Relation of a request to its caller's trace: part of it, or linked with it. `linked` is for front ends that name
    a trace for every request and record few of them, such as Cloud Run's."""
    instance: Annotated[str, Field(min_length=1, max_length=100)] | None = None
    """Name of this process and its successor, which takes over the leases of a killed process at once. It is unique
    among the processes of a service that share a store; unset: a new name at each start."""
    parent_fd: Annotated[int, Field(ge=0)] | None = None
    """Read end of a pipe: the process ends when the parent's end closes."""

    @field_validator("issuers", mode="before")
    @classmethod
    def _parse_issuers(cls, issuers: Any) -> Any:
        return _parse_json(issuers, "AEX_ISSUERS: not JSON")

    @field_validator("service_accounts", mode="before")
    @classmethod
    def _parse_accounts(cls, accounts: Any) -> Any:
        return _parse_json(accounts, f"AEX_SERVICE_ACCOUNTS: not JSON; {_ACCOUNTS_HINT}")

    @field_validator("service_accounts")
    @classmethod
    def _check_accounts(cls, accounts: Mapping[str, str]) -> Mapping[str, str]:
        for service, account in accounts.items():
            if service not in SERVICES:
                raise ValueError(f"AEX_SERVICE_ACCOUNTS: there is no service {service!r}; {_ACCOUNTS_HINT}")
            if types.SERVICE_ACCOUNT.fullmatch(account) is None:
                wrong = f"{service} has {account!r}, no address of a service account"
                raise ValueError(f"AEX_SERVICE_ACCOUNTS: {wrong}; {_ACCOUNTS_HINT}")
        if len(set(accounts.values())) < len(accounts):
            raise ValueError("AEX_SERVICE_ACCOUNTS: two services have one account; give each its own")
        return accounts

    @model_validator(mode="after")
    def _check_google(self) -> "RuntimeSettings":
        if self.service_tokens == "local":
            return self
        missing = ", ".join(service for service in SERVICES if service not in self.service_accounts)
        if missing:
            wrong = f"AEX_SERVICE_TOKENS=google needs the account of {missing}"
            raise ValueError(f"AEX_SERVICE_ACCOUNTS: {wrong}; {_ACCOUNTS_HINT}")
        if any(issuer.iss == types.GOOGLE_ISS for issuer in self.issuers):
            wrong = f"{types.GOOGLE_ISS} is there already, for AEX_SERVICE_TOKENS=google"
            raise ValueError(f"AEX_ISSUERS: {wrong}; remove it from the list")
        return self

    @model_validator(mode="after")
    def _check_schemes(self) -> "RuntimeSettings":
        for name, url, schemes in (
            ("store_url", self.store_url, STORE_SCHEMES),
            ("bus_url", self.bus_url, BUS_SCHEMES),
            ("blobs_url", self.blobs_url, BLOBS_SCHEMES),
            ("event_data_url", self.event_data_url, BLOBS_SCHEMES),
            ("traces_url", self.traces_url, TRACES_SCHEMES),
        ):
            if url is not None and urlsplit(url).scheme not in schemes:
                known = ", ".join(f"{scheme}://" for scheme in schemes)
                raise ValueError(f"AEX_{name.upper()}: unknown scheme in {_without_secrets(url)!r}; one of {known}")
        return self

    def uses_data_dir(self) -> bool:
        """Return whether the data directory has the store, the bus, the blobs or the key.

        Each is there if its own setting is unset.
        """
        return None in {self.store_url, self.bus_url, self.blobs_url, self.key_file}

    def stores_in_data_dir(self) -> bool:
        """Return whether the store, the bus or the blobs are in the data directory and fill its disk."""
        return any(map(self._is_in_data_dir, (self.store_url, self.bus_url, self.blobs_url)))

    def _is_in_data_dir(self, url: str | None) -> bool:
        if url is None:
            return True
        parts = urlsplit(url)
        is_local = parts.scheme in _LOCAL_SCHEMES
        return is_local and Path(parts.path[1:]).absolute().is_relative_to(self.data_dir.absolute())

    def effective_port(self, service: str) -> int:
        """Return the port to listen on: the setting, or the default of the service."""
        return _PORTS.get(service, 0) if self.port is None else self.port

    def effective_store_url(self, service: str) -> str:
        """Return the URL of the service's store: the setting, or a file in the data directory."""
        return self.store_url or f"sqlite:///{self.data_dir}/{service}/store.sqlite3"

    def effective_bus_url(self) -> str:
        """Return the URL of the bus that all services share: the setting, or a folder in the data directory."""
        return self.bus_url or f"embedded:///{self.data_dir}/bus"

    def effective_google_project(self) -> str | None:
        """Return the Google Cloud project: the setting, or that of the store's or the bus's URL, or None."""
        urls = [urlsplit(url) for url in (self.store_url, self.bus_url) if url]
        projects = [url.netloc for url in urls if url.scheme in GOOGLE_SCHEMES]
        return self.google_project or next(iter(projects), None)

    def effective_blobs_url(self) -> str:
        """Return the URL of the services' blob store: the setting, or a folder in the data directory."""
        return self.blobs_url or f"file:///{self.data_dir}/blobs"


def describe_setting_problems(error: ValidationError) -> list[str]:
    """Return a line for each invalid setting, with its name and not its value."""
    found = error.errors(include_input=False)
    return [f"{'.'.join(map(str, each['loc'])) or 'settings'}: {each['msg']}" for each in found]


def _without_secrets(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname or ''}{parts.path}"


def _parse_json(value: Any, message: str) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        raise ValueError(message) from None
