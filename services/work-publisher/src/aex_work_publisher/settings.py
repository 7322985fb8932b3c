"""Settings of the work-publisher service."""

from pathlib import Path

from aex_runtime.settings import RuntimeSettings


class Settings(RuntimeSettings):
    """What every service has, and the catalogue that submissions are checked against."""

    outcome_config: Path | None = None
    """`outcome-verification.yaml`, the same as verification's; unset: the built-in metrics with their defaults."""
