"""Settings of the verification service, and loading of its outcome configuration."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr

from aex_outcomes.catalog import Catalog
from aex_outcomes.config import InvalidConfig, OutcomeConfig, VerificationConfig
from aex_outcomes.lifecycle import registry
from aex_runtime.setting_types import ServiceUrl
from aex_runtime.settings import RuntimeSettings, as_bad_configuration
from aex_verification.limits import StreamBounds

_EMBEDDED = frozenset({"sqlite", "embedded", "file", "memory"})


class Settings(RuntimeSettings):
    """Settings of the service, besides those of every service."""

    outcome_config: Path | None = None
    """An `outcome-verification.yaml`, the same for work-publisher and verification; unset: all defaults."""
    workers: Annotated[int, Field(ge=1, le=64)] = 2
    """Confined worker processes of this instance."""
    verify_timeout_s: Annotated[float, Field(gt=0, le=3600)] = 30.0
    """Seconds after which a verification is killed; that is a system error, never the agent's fault."""
    sandbox_workers: Annotated[int, Field(ge=0, le=6)] = 1
    """Confined workers for custom metrics; with 0, works that need one wait for another instance."""
    science_workers: Annotated[int, Field(ge=1, le=16)] = 2
    """Confined worker processes that read raw data, started with the first work that has science."""
    spool_dir: Path | None = None
    """Folder for raw data of grading, up to 1 GB for each of four candidates at once. Any user must be able to pass
    through it. Unset: the system's folder for temporary files."""
    verifier_workers: Annotated[int, Field(ge=1, le=6)] = 1
    """Confined worker processes for named verifiers, if any is registered."""
    verifier_network: bool = False
    """True if named verifiers may open sockets; they are the operator's code and read hostile candidates."""
    worker_memory_mb: Annotated[int, Field(ge=128)] = 1024
    """Memory of one confined worker process."""
    max_system_retries: Annotated[int, Field(ge=0, le=100)] = 5
    """Retries of a verification that failed by the platform's fault."""
    governance_timeout_s: Annotated[float, Field(gt=0, le=60)] = 5.0
    """Time that governance may take to answer."""
    review_model: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    """Language model that reviews science, by the name its server knows; unset: there are no peer reviews."""
    review_base_url: ServiceUrl | None = None
    """URL of an OpenAI-compatible server, including `/v1`; unset: OpenAI's own."""
    review_api_key: SecretStr | None = None
    """Key for the model's server; unset: none is sent."""
    review_output: Literal["tool", "text"] = "tool"
    """Form of the model's answers: `tool` is a function call or plain JSON, `text` plain JSON only."""
    review_timeout_s: Annotated[float, Field(gt=0, le=600)] = 60.0
    """Time limit in seconds of each attempt."""
    review_attempts: Annotated[int, Field(ge=1, le=10)] = 3
    """Attempts at a model's server that does not answer."""
    review_max_input_chars: Annotated[int, Field(ge=8_000, le=1_000_000)] = 60_000
    """Characters of a work and its candidate in one prompt; longer texts are truncated and marked."""
    review_max_output_tokens: Annotated[int, Field(ge=200, le=100_000)] = 4_000
    """Tokens of each answer of the model."""
    review_concurrency: Annotated[int, Field(ge=1, le=100)] = 4
    """Reviews in progress at once in this instance."""
    max_waits: Annotated[int, Field(ge=0)] = 500
    """Requests that may wait for a verdict at once."""
    max_streams: Annotated[int, Field(ge=1)] = 500
    """Streams of contract events at once."""
    max_streams_of_one: Annotated[int, Field(ge=1)] = 50
    """Streams of contract events at once of one principal."""
    events_heartbeat_s: Annotated[float, Field(gt=0, le=60)] = 15.0
    """Seconds without an event after which a comment is sent, so that proxies do not close the stream."""
    events_lifetime_s: Annotated[float, Field(gt=0, le=3600)] = 240.0
    """Seconds after which a stream ends, so that its reader reconnects with a fresh token."""

    def stream_bounds(self) -> StreamBounds:
        """Return the limits of event streams."""
        return StreamBounds(self.max_streams_of_one, self.max_streams, self.events_heartbeat_s, self.events_lifetime_s)


def load_catalog(settings: Settings) -> Catalog:
    """Load the configured metric catalogue. Raises `BadConfiguration` with file, key and fix.

    Switches that are allowed only with embedded backends are refused elsewhere.
    """
    with as_bad_configuration("AEX_OUTCOME_CONFIG", InvalidConfig):
        catalog = Catalog.from_config_file(settings.outcome_config)
        if problems := list(_forbidden_switches(catalog.config.verification, settings)):
            raise InvalidConfig([(f"{settings.outcome_config}: verification.{name}", why) for name, why in problems])
        catalog.check_domains()
    return catalog


def load_verifiers(settings: Settings, config: OutcomeConfig) -> registry.VerifierRegistry:
    """Load the named verifiers of the configuration. Raises `BadConfiguration` with each unusable one."""
    with as_bad_configuration("AEX_OUTCOME_CONFIG", InvalidConfig):
        try:
            return registry.VerifierRegistry.import_enabled(config)
        except InvalidConfig as error:
            if settings.outcome_config is None:  # an installed package's own
                raise
            named = [(f"{settings.outcome_config}: {key}", problem) for key, problem in error.problems]
            raise InvalidConfig(named) from None


def _forbidden_switches(config: VerificationConfig, settings: Settings) -> Iterator[tuple[str, str]]:
    """Yield each switch that is off although backends are not embedded, with reason and fix."""
    urls = {"AEX_STORE_URL": settings.store_url, "AEX_BUS_URL": settings.bus_url, "AEX_BLOBS_URL": settings.blobs_url}
    cloud = [name for name, url in urls.items() if url is not None and urlsplit(url).scheme not in _EMBEDDED]
    fix = f"remove the line, or unset {', '.join(cloud)}"
    if not config.store_outcomes and cloud:
        yield "store_outcomes", f"false is for the embedded backends alone: elsewhere others read outcomes; {fix}"
    if not config.governance_check and cloud:
        yield (
            "governance_check",
            f"false is for the embedded backends alone: where others rely on outcomes, none is final unchecked; {fix}",
        )
