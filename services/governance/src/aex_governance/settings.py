"""Settings of the governance service, beside those that every service has."""

from pathlib import Path

from aex_runtime.settings import RuntimeSettings


class Settings(RuntimeSettings):
    """Where the rules' thresholds come from."""

    rules_config: Path | None = None
    """A YAML file over the packaged `rules/thresholds.yaml`."""
