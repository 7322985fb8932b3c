"""Settings of the verification service, beside those that every service has."""

from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import Field

from aex_runtime.settings import RuntimeSettings
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
    verifier_workers: Annotated[int, Field(ge=1, le=6)] = 1
    """Confined worker processes for the named verifiers, where any is registered."""
    verifier_network: bool = False
    """Whether named verifiers may open sockets: they are the operator's own code, and see hostile candidates."""
    worker_memory_mb: Annotated[int, Field(ge=128)] = 1024
    max_system_retries: Annotated[int, Field(ge=0, le=100)] = 5
    governance_timeout_s: Annotated[float, Field(gt=0, le=60)] = 5.0
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
