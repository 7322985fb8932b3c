"""Settings of the work-publisher service."""

from pathlib import Path

from aex_runtime.settings import RuntimeSettings


class Settings(RuntimeSettings):
    """Settings of the service: outcome configuration and review model, besides those of every service."""

    outcome_config: Path | None = None
    """An `outcome-verification.yaml`, the same for work-publisher and verification; unset: all defaults.

    Only the names of its verifiers are read. Their code is not imported here and need not be installed.
    """
    review_model: str | None = None
    """Language model that reviews science, by the name its server knows; unset: there are no peer reviews.

    Without it works cannot request a review. This service does not call it.
    """
