"""Settings of the settlement service."""

from aex_runtime.settings import RuntimeSettings


class Settings(RuntimeSettings):
    """The settings of every service. Fee rates come from the contracts' terms."""
