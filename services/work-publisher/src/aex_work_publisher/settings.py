"""Settings of the work-publisher service."""

from pathlib import Path

from aex_runtime.settings import RuntimeSettings


class Settings(RuntimeSettings):
    """What every service has, and the catalogue, verifiers and reviewer that submissions are checked against."""

    outcome_config: Path | None = None
    """`outcome-verification.yaml`, the same as verification's; unset: the built-in metrics with their defaults.

    Of its verifiers the names alone are read: none of their code is imported here, so it need not be installed.
    """
    review_model: str | None = None
    """The model that verification asks for peer reviews; unset or empty: there is no reviewer, and works cannot ask for
    one. Nothing here asks it anything."""
