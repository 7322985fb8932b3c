"""Settings of the work-publisher service."""

from pathlib import Path

from aex_runtime.settings import RuntimeSettings


class Settings(RuntimeSettings):
    """Settings for outcomes: configuration, review model and fee."""

    outcome_config: Path | None = None
    """`outcome-verification.yaml`, the same as verification's; unset: the built-in metrics with their defaults.

    Of its verifiers the names alone are read: none of their code is imported here, so it need not be installed.
    """
    review_model: str | None = None
    """Model of verification's peer reviews.

    Unset or empty: there is no reviewer, and works cannot request one. This service does not call it.
    """
