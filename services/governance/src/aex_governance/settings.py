"""Settings of the governance service."""

from pathlib import Path

from aex_runtime.settings import RuntimeSettings


class Settings(RuntimeSettings):
    """The settings that every service has, and the path of the operator's file of fraud rules."""

    rules_config: Path | None = None
    """YAML file with switches and thresholds of fraud rules over the packaged ones; unset: the packaged ones alone."""
