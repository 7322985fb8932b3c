"""Settings of the verification service, beside those that every service has."""

from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr

from aex_runtime.settings import RuntimeSettings, ServiceUrl
from aex_verification.followers import FollowingBounds

_EMBEDDED = frozenset({"sqlite", "embedded", "file", "memory"})


class Settings(RuntimeSettings):
    """How candidates are verified."""

    outcome_config: Path | None = None
    """An `outcome-verification.yaml`; unset: the built-in extractors with their defaults."""
    workers: Annotated[int, Field(ge=1, le=64)] = 2
    """Confined worker processes of this instance."""
    verify_timeout_s: Annotated[float, Field(gt=0, le=3600)] = 30.0
    """After this time a verification is killed: a system error, never the agent's fault."""
    sandbox_workers: Annotated[int, Field(ge=0, le=6)] = 1
    """Confined worker processes for works with custom metrics, beside the others; 0: this instance runs no custom code,
    and what needs it waits for one that does."""
    science_workers: Annotated[int, Field(ge=1, le=16)] = 2
    """Confined worker processes that read raw data, started when the first work has science."""
    spool_dir: Path | None = None
    """Where raw data are written out for them, up to 1 GB for each of four candidates at once: a folder that any user
    may pass through. Unset: the system's for temporary files."""
    verifier_workers: Annotated[int, Field(ge=1, le=6)] = 1
    """Confined worker processes for the named verifiers, where any is registered."""
    verifier_network: bool = False
    """Whether named verifiers may open sockets: they are the operator's own code, and see hostile candidates."""
    worker_memory_mb: Annotated[int, Field(ge=128)] = 1024
    max_system_retries: Annotated[int, Field(ge=0, le=100)] = 5
    governance_timeout_s: Annotated[float, Field(gt=0, le=60)] = 5.0
    review_model: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    """The language model that reviews science, by the name its server knows; unset: there are no peer reviews."""
    review_base_url: ServiceUrl | None = None
    """Of an OpenAI-compatible server, with its `/v1`; unset: OpenAI's own."""
    review_api_key: SecretStr | None = None
    review_output: Literal["tool", "text"] = "tool"
    """How the model answers: by a function call (or plain JSON), or `text`: plain JSON alone, for servers or models
    that know no function calls."""
    review_timeout_s: Annotated[float, Field(gt=0, le=600)] = 60.0
    """Of each try."""
    review_attempts: Annotated[int, Field(ge=1, le=10)] = 3
    review_max_input_chars: Annotated[int, Field(ge=8_000, le=1_000_000)] = 60_000
    """Of a work and its candidate, in one prompt; more is cut, with a mark."""
    review_max_output_tokens: Annotated[int, Field(ge=200, le=100_000)] = 4_000
    review_concurrency: Annotated[int, Field(ge=1, le=100)] = 4
    """Reviews under way at once in this instance."""
    max_waits: Annotated[int, Field(ge=0)] = 500
    """Requests that may wait for a verdict at once."""
    max_streams: Annotated[int, Field(ge=1)] = 500
    """Streams of contract events at once."""
    max_streams_of_one: Annotated[int, Field(ge=1)] = 50
    """Of these, streams of one principal."""
    events_heartbeat_s: Annotated[float, Field(gt=0, le=60)] = 15.0
    """How long a stream of events may be silent; then a comment keeps what lies between from closing it."""
    events_lifetime_s: Annotated[float, Field(gt=0, le=3600)] = 240.0
    """After which a stream ends, so that its reader comes back with a fresh authorisation."""

    def following_bounds(self) -> FollowingBounds:
        """The bounds of the streams of events."""
        return FollowingBounds(
            self.max_streams_of_one, self.max_streams, self.events_heartbeat_s, self.events_lifetime_s
        )

    def cloud_backends(self) -> tuple[str, ...]:
        """The variables that name a backend outside this machine, an emulator in its place included."""
        urls = {"AEX_STORE_URL": self.store_url, "AEX_BUS_URL": self.bus_url, "AEX_BLOBS_URL": self.blobs_url}
        return tuple(name for name, url in urls.items() if url is not None and urlsplit(url).scheme not in _EMBEDDED)
