"""Settings of the governance service, beyond those of every service."""

from pathlib import Path

from aex_runtime.settings import RuntimeSettings


class Settings(RuntimeSettings):
    """The settings of every service, and the file of rules."""

    rules_config: Path | None = None
    """YAML file with switches and thresholds of fraud rules over the packaged ones; unset: the packaged ones alone."""
